"""Turn a request into a bound plan, and verify the plan before it runs."""
