"""Refuse to spawn: lockdown, self-test commands, an unsafe home."""
