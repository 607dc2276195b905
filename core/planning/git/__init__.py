"""Resolve what git would start or obey in a repository."""
