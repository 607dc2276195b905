"""Ask a person at this machine through exec-approvals.sock (S0 "UI integration").

::

    client   what a gateway or a node asks: is somebody there, show this, it has ended
    server   what a companion serves: who may ask, how often, and which answer goes to whom
    frames   one line: strict models of every frame, and what a dialog shows
    signing  what the token proves, in both directions
    limits   how long a challenge counts, how often one process may ask

The protocol is described byte for byte in docs/reference/exec-approvals-socket.md.
"""
