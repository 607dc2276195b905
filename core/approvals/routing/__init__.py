"""Choose whom to ask, where and when."""
