"""Deliver the files that a plan pinned to whoever opens them by name."""
