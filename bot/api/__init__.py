"""Serve the method table over HTTP and WebSocket.

::

    uvicorn ─▶ connection   one socket: its head in time, its number bounded, cut when it must be
                  ▼
               guard        Host and Origin, rates, token, concurrency, body; one error shape
                  ▼
     rest | streams | websocket | openapi | health | metrics
                  ▼
               methods      the one table that gateway.sock serves too

Tokens travel in the Authorization header only, never in a URL; there are no cookies, and no other
site's page is let in (no CORS headers, ``Host`` and ``Origin`` are checked).
"""
