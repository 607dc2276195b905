"""Judge without running: the work behind `sayso policy explain`."""
