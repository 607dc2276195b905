"""Find what of a command is code: by its words, by its input, in a text that nobody read."""
