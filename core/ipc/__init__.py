"""Talk JSON-RPC 2.0 with local processes: one JSON object a line, both ends distrustful.

::

    unix          the socket: who may connect, how many, and an orderly end
    socket_file   its place in the file system, and one live owner of it
    jsonrpc       one connection: requests side by side, deadlines, cancellation
    frames        one line: bytes to request, result to bytes; everything odd is refused
    strict_json   reads the bytes, and the bodies of the API as well
    errors        what can be wrong with a frame
    peer          who is at the other end, according to the kernel
    users         the names of this machine's users
    strict_model  a frame into its model
    unattended    finishes what changes something, although its caller leaves

Limits, so that one client does not keep the others out::

    connection_slots  the connections of a socket
    tcp_listener      TCP connections by strangers
    fair_turns        the requests that each user of a shared socket begins at a time
    room              the bytes of requests in memory;  allowance  the bytes read of one peer
"""
