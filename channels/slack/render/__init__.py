"""Render cards as Slack messages; pure."""
