"""The terminal of `sayso terminal`."""
