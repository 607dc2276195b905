"""Serve the REST routes; each is one call of a method.

::

    routes       the list of routes;  route  what a route is
    rest         the handlers
    call         an HTTP request → a call of the method table
    background   requests that outlive their caller
    sse          events and output as server-sent events;  live_output  redaction of that output
    pages        /health, /metrics
    wakeups      wake-ups of the store, for requests that wait
"""
