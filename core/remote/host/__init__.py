"""Run listed commands for another machine's agent."""
