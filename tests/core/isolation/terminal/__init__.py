"""Test terminals of other Unix users."""
