"""Render cards as Discord messages; pure."""
