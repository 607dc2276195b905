"""Set up and run the gateway, and see how it does: each module is the command of its name.

``running`` is none: it finds the gateway that runs on a home, so that a second one can name it.
"""
