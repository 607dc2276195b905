"""Build the parts of a running gateway in order, and replace them on a reload.

::

    storage     the journal and the store, and what an earlier gateway left open
    execution   the guard, the runner and the hosts
    gate        the gate, with its broker and its rules
    api         HTTP and WebSocket, if they are configured
    methods     the table of methods
    companion   the channel of the companion
    nodes       let nodes connect, if they may, and store how their runs ended
    gate_proof  the prover, and when it runs
    reload      take over a changed configuration (SIGHUP)
    sighup      distinguish a closed terminal from a request to reload
    logs        the gateway's log;  log_writer  a thread that writes it, so that it blocks nobody

``bot.factories`` has what is built from the settings alone, which `sayso doctor` and `sayso policy`
need without a gateway.
"""
