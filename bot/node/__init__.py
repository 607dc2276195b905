"""Run commands for a gateway on another machine: the second composition root.

The planner, the judge, the runner, the guard and the journal are those of the gateway.

::

    app      compose a node and keep it connected
    judge    read, bind and judge what the gateway asks, by this machine's own approvals file
    work     run what was allowed, once, and report how it ended
    commands answer what the gateway asks besides: which programs there are, the approvals file
"""
