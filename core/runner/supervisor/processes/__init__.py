"""Find, limit and end the processes of a run."""
