"""Run the HTTP server.

::

    server             uvicorn inside the gateway's event loop
    binding            the port, wherever `localhost` resolves to
    connection_limits  the bounds of each connection: number, head, reader
    client             whose connection it is: an address, and on this machine a user
    rate_limits        what each client, token and fault uses up
    bodies             a body, bounded and strictly parsed
    errors             one shape for every failure
    metrics            counters and times, in the format of Prometheus
    gauges             the state of the gateway's parts, for alert rules
"""
