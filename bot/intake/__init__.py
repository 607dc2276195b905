"""Take requests in: frames become ``ExecRequest``; who asks comes from the connection.

::

    socket   the method table of gateway.sock
    frames   params and results of the methods, strict at this edge
    peers    who is at the other end of a Unix socket
"""
