"""Deliver the files that a plan pinned to the processes that open them by name."""
