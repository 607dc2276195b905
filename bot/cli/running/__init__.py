"""Follow one run from its question to its end, as `sayso run` does.

::

    wish        what is asked, from the arguments
    following   one request: frames in, output out, signals, a gateway that restarts
    outlets     standard output and error, which never make the gateway wait
    signals     the first interrupt asks for the end, the second leaves
    spinner     who is asked and how long there is, on a terminal
    ending      the last words and the exit code

It stands before every command of an agent, so each part imports what the common case needs only.
"""
