"""Match words, arguments and paths with the patterns of entries and rules."""
