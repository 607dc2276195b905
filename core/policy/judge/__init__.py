"""Judge a plan: one verdict for a request, with its reasons."""
