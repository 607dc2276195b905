"""Pair nodes, and have them carry out what they advertise."""
