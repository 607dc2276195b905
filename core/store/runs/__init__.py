"""Store runs: claim once, finish once, recover after a crash."""
