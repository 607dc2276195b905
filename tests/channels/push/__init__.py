"""Web push: what is sent, and where to."""
