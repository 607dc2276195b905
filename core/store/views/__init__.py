"""Query the store for display: history, owners, counts, status, what happened last.

Only ``decision`` writes: it takes an answer, and returns with it what the edits show.
"""
