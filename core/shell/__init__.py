"""Parse a shell line by two independent readers; import ``core.model`` only."""
