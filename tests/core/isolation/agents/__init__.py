"""Test agents that run in executors."""
