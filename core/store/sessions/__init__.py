"""Store what belongs to sessions: events, origins, overrides, threads."""
