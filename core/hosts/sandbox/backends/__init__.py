"""Start commands inside bubblewrap or containers."""
