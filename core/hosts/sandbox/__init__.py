"""The host ``sandbox``: commands that see little, change one folder and reach no network."""
