"""Run bound plans: the only package that starts processes.

::

    runner       Runner: one call runs one plan; the other modules serve it
    supply       where a Runner takes supervisors from: the pool, or executors (core.isolation)
    pool         keeps the launcher alive and a few supervisors warm
    link         the gateway's end of one supervisor
    job          an opened plan → the job that a supervisor runs;  result  its report → the result
    require_claim  the claim of a run, or why nothing of it ran
    concurrency  how many runs there are at a time;  limits  what one may use
    enclosure    what a sandbox puts around the commands of a run
    active_run   how far a run is;  live_output  what it prints while it lasts
    orphans      what a dead gateway's run left;  remains  what a dead leader left
    process_liveness  whether another process is alive
    tcp_peer     whose process is at the other end of a connection
    supervisor   the child process: spawns, limits, drains and reaps; standard library only
"""
