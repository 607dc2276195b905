"""One module a revision; each is final once released."""
