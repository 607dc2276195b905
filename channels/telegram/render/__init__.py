"""Render cards as Telegram messages; pure."""
