"""Prove, at the start and by the clock, that every entry point holds what it must hold.

::

    prover ─▶ marks.draw ─▶ submit ─▶ intake ─▶ gate ─▶ held            (health: when, by which)
       │                                          └───▶ let through ─▶ guard ─▶ locked down
       └── an answer that it ran, or the witness on disk ──────────────────────┘

    entry_points  what an entry point is, and how its answers are read
    socket        gateway.sock, as a client of its own
    tool          the tool Exec over gateway.sock, as an agent of its own, where an owner granted it
    chat          /run, through the inbox that all channels use
    remote        remote exec, as a machine of its own, where it is open
    rpc           the JSON-RPC frames of a proof
    prover        one round: each entry point side by side, in bounded time
    alarm         report a lockdown to people, the journal and the log

``bot.api.gate_proof`` has REST and WebSocket, ``bot.wiring.gate_proof`` gives a gateway all this.
Nobody is woken by a proof: it asks nobody, stores nothing and is in no list; the journal alone has
a line for each round.
"""
