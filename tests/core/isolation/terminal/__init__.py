"""Terminals of other Unix users."""
