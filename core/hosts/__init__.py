"""The places where plans run."""
