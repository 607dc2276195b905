"""Identify who calls a method.

::

    caller     who calls and what they may do, by whichever entry point
    unix_peer  the process at the other end of a Unix socket
    terminal   a person at a terminal, who alone may give rights on the socket
    bearer     the holder of a token
"""
