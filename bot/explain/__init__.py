"""Judge without running: the implementation of `sayso policy explain`."""
