"""Resolve which program a command really runs, and what else it reads or starts."""
