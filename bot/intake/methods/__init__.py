"""Implement the methods, one module per group."""
