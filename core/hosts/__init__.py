"""The places where plans run, and the choice among them."""
