"""Take requests in: frames become ``ExecRequest``; who asks comes from the connection.

::

    socket ─▶ caller ─┐                       ┌─▶ runs, questions, records, outlook,
    bot.api ─▶ bearer ─┴─▶ methods.invoke ─▶ ─┴─▶ people, grants, tokens, tools, approvals_file

    table      every method, for every way in
    methods    the one way to call one: scope, agent, params, handler
    caller     who calls and what they may do;  peers  who is at the other end of a Unix socket
    bearer     who holds a token
    terminal   a person at a terminal, who alone may give rights on the socket
    sight      what of another agent's is hidden
    frames     params of the methods, strict at this edge;  results  what they answer
    standing   how a request stands, and where it is answered
"""
