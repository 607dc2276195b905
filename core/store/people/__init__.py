"""Store people, their accounts and their tokens."""
