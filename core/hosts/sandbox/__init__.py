"""The host ``sandbox`` (S0): commands that see little, change one folder and reach no network."""
