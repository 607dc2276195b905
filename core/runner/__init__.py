"""Turn a request into a bound plan, and run it: the only package that starts processes."""
