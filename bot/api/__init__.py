"""Serve the method table over HTTP and WebSocket.

::

    http/       the server: connections bounded in number and time, bodies, errors, metrics
       ▼
    access/     Host and Origin, rates, token, concurrency; the access log
       ▼
    rest/ | websocket/ | openapi/ ─▶ bot.intake.table, which gateway.sock serves too

    app         the application, put together and run
    gate_proof  the proof that REST and WebSocket refuse what they must

Tokens travel in the Authorization header only, never in a URL; there are no cookies, and no other
site's page has access (no CORS headers, ``Host`` and ``Origin`` are checked).
"""
