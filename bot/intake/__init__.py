"""Accept requests: params become ``ExecRequest``; the requester comes from the connection.

::

    socket, bot.api ─▶ callers ─▶ registry.method.invoke ─▶ methods ─▶ core.gate
                                                               └─▶ results ─▶ the answer

    socket     gateway.sock and the shared socket
    table      every method, for every entry point
    callers/   who calls and what they may do: a Unix peer, a terminal, a token
    registry/  the one way to call a method: scope, agent, params, handler
    methods/   the handlers, one module per group
    results/   what they return, redacted, without what belongs to other agents
"""
