"""Define the tables and records of the store, and bring a database to them."""
