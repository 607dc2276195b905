"""Find, limit and end the processes of a run, and say whose a connection is."""
