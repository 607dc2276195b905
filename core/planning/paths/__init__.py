"""Resolve paths: globs, symbolic links, the search path, pins of files."""
