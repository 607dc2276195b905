"""Follow one run from its request to its end: `sayso run`.

::

    command         the command itself
    arguments       one table of options, for the parser and for the quick way
    params          the params of exec.run, from the arguments
    follow          one request: frames in, output out, signals, a gateway that restarts
    output_streams  standard output and error, which never make the gateway wait
    signals         the first interrupt asks for the end, the second leaves
    spinner         who is asked and how long there is, on a terminal
    exit_status     the last words and the exit code

It comes before every command of an agent, so each module imports what the common case needs only.
"""
