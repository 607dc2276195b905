"""Follow one run from its request to its end: `sayso run`.

::

    command         the command itself
    arguments       one table of options, for the parser and for the fast path
    params          the params of exec.run, from the arguments
    follow          one request: frames in, output out, signals, a gateway that restarts
    output_streams  standard output and error, which never make the gateway wait
    signals         the first interrupt cancels the run, the second detaches
    spinner         who is asked and how much time is left, on a terminal
    exit_status     the last words and the exit code

It precedes every command of an agent, so each module imports only what the common case needs.
"""
