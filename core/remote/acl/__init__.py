"""Parse the access control list of remote exec."""
