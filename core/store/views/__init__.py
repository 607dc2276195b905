"""Query the store for display: history, owners, counts, status, what happened last."""
