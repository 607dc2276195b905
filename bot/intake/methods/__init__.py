"""Implement the methods, one module for each group."""
