"""Test web push: what is sent, and where to."""
