"""Make git start something, in ways that each have a canary, for lines that a policy lets pass."""
