"""Test the terminal of `sayso terminal`."""
