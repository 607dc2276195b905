"""Run commands as other Unix users: the gateway's side of executors (S2).

::

    agents/        agents in executors, and who decides on what they want to do
    executors      a runner for each user, whose supervisors executors start, one for each run
    pool           starts executors, up to a limit; keeps a spare; ends what a crash left
    calls          what is asked of an executor, and what it asks, each with its token
    incoming       what becomes of the calls that an executor makes
    tokens         session tokens: one use, an expiry, a rate
    executor       one executor: whose it is, what it does, how far it has got
    terminal/      terminals in executors
    call_audit     each call between gateway and executor, in the journal
    client         JSON-RPC to one executor; the kernel says whose process it is
    fair_turns     places for runs, given to users in turn, and to their sessions
    upkeep         waiting for a place; whether the right one answers; what one left behind
    containment    a cgroup for each executor, if the gateway may make one
    process        starts an executor by sudo, with a socket as its descriptor 0
    wire           the frames, for both sides; standard library only

The executor itself is ``bot.executor``. Only this package and core.runner start processes.
"""
