"""Run the gateway and see how it does.

::

    serve     `sayso serve`: in the foreground
    service   `sayso service`: under systemd
    status    `sayso status`: its channels, what waits and what runs, on one screen
    running   the gateway that runs on a home, so that a second one can name it
"""
