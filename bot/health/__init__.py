"""Report the gateway's health, part by part; frequent requests do not load the platforms.

::

    report     all parts together, as `health.get`, /health and `sayso doctor` show them
    check      how a check ended, kept for a while; `sayso doctor` uses the same findings
    store      a write that reaches the disk, its time, the space that is left, the store's clock
    probes     whether the wall clock jumped; what each platform reports, asked once a minute at
               most; the backend that encloses commands, if that is wanted
    nodes      which other machines are connected
    gate       the last proof of each entry point, and whether all is locked down
"""
