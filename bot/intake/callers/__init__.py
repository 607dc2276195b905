"""Identify who calls a method.

::

    caller     who calls and what they may do, by whichever entry point
    unix_peer  the process at the other end of a Unix socket
    terminal   a person at a terminal, the only one who may grant rights over the socket
    bearer     the holder of a token
"""
