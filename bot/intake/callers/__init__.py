"""Identify who calls a method, and hide what belongs to another agent from them.

::

    caller      who calls and what they may do, by whichever entry point
    visibility  what a caller may see
    unix_peer   the process at the other end of a Unix socket
    terminal    a person at a terminal, the only one who may grant rights over the socket
    bearer      the holder of a token
"""
