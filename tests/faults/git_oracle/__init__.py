"""Ways to make git start something, each with a canary, for lines that a policy lets pass."""
