"""Test cards, before a platform formats them."""
