"""One module per revision; each is final once released."""
