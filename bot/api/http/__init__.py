"""Run the HTTP server.

::

    server             uvicorn inside the gateway's event loop
    connection_limits  the bounds of each connection: number, head, reader
    bodies             a body, bounded and strictly parsed
    errors             one shape for every failure
    metrics            counters and times, in the format of Prometheus
"""
