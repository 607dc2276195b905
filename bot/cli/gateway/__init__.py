"""Set up, run and inspect the gateway: each module is the command of its name.

``running`` is not a command: it finds the gateway running on a home, so that a second one can name
it.
"""
