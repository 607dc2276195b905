"""Prove, at the start and by the clock, that every entry point stops what it must.

::

    prover ─▶ marks.draw ─▶ submit ─▶ intake ─▶ gate ─▶ held            (health: when, by which)
       │                                          └───▶ let through ─▶ guard ─▶ locked down
       └── an answer that it ran, or the witness on disk ──────────────────────┘

    entry_points  what an entry point is, and how its answers are read
    socket        gateway.sock, as its own client
    tool          the tool Exec over gateway.sock, as a separate agent, if an owner granted it
    chat          /run, through the inbox that all channels use
    remote        remote exec, as a separate machine, if it is open
    rpc           the JSON-RPC frames of a proof
    prover        one round: all entry points in parallel, in bounded time
    test_prompt   the sessions of test prompts, which are no proofs
    alarm         report a lockdown to people, the journal and the log

``bot.api.gate_proof`` has REST and WebSocket, ``bot.wiring.gate_proof`` gives a gateway all this.
A proof disturbs nobody: it asks nobody, stores nothing and is in no list; only the journal has a
line for each round.
"""
