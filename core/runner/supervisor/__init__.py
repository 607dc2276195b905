"""Run jobs in a child process; standard library only."""
