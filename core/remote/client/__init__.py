"""Ask another machine to run a command."""
