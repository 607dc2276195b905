"""Run bound plans: the only package that starts processes.

::

    runner       Runner: one call runs one plan; the other modules serve it
    supply       where a Runner takes supervisors from: the pool, or executors (core.isolation)
    tcp_peer     whose process is at the other end of a connection
    pool         keeps the launcher alive and a few supervisors warm
    supervisor   the child process: spawns, limits, drains and reaps; standard library only
"""
