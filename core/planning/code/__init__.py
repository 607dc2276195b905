"""Find the code that a command runs: named by its words, fed by its input, or in unread texts."""
