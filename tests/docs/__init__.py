"""Run what the pages tell a user to type, in order, as a user would."""
