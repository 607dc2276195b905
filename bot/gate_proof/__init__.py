"""Prove, at the start and by the clock, that every way in holds what it must hold.

::

    prover ─▶ marks.draw ─▶ way.submit ─▶ intake ─▶ gate ─▶ held            (health: when, by which)
       │                                              └───▶ let through ─▶ guard ─▶ locked down
       └── an answer that it ran, or the witness on disk ──────────────────────────┘

    ways     what a way in is, and how its answers are read
    socket   gateway.sock, as a client of its own
    tool     the tool Exec over gateway.sock, as an agent of its own, where an owner granted it
    chat     /run, through the inbox that all channels hand their people's words to
    network  REST and WebSocket, where the API is served
    remote   the door for other machines, as one of its own, where it is open
    prover   one round: each way side by side, in bounded time; lifting needs a round that held
    wiring   how a gateway has all this
    alarm    tell people, the journal and the log that all is locked down

Nobody is woken by a proof: it asks nobody, stores nothing and is in no list; the journal alone has
a line for each round.
"""
