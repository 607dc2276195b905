"""Run listed commands for another machine's agent.

::

    service      admits, records, runs and answers
    admission    the six conditions of a request
    run          one admitted request
    lease        ends a run whose client stops renewing it
    active_runs  counts the runs, and enforces the caps
    exec_log     hash-chained lines, on disk before any answer
    counters     what happened, for `sayso diagnostics exec`
"""
