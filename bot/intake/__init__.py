"""Accept requests: parameters become ``ExecRequest``; who asks comes from the connection.

::

    socket, bot.api ─▶ callers ─▶ registry.method.invoke ─▶ methods ─▶ core.gate
                                                               └─▶ results ─▶ the answer

    socket     gateway.sock and the shared socket
    table      every method, for every entry point
    callers/   who calls and what they may do: a Unix peer, a terminal, a token
    registry/  the one way to call a method: scope, agent, params, handler
    methods/   the handlers, one module for each group
    results/   what they answer, redacted; what of another agent's is hidden
"""
