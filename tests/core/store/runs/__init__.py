"""Test what the store keeps of runs."""
