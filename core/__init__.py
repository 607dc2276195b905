"""Judge commands and run them; know no chat platform, scheduler or web framework.

A request moves one way, one call a step (``core.gate.line`` is that line)::

    bot.intake: socket, chat, API ─┐
    gate.tools: Exec, Which ───────┴▶ gate.submit ─▶ policy.resolve ─▶ runner.plan
                                                                           │
                                                                    policy.evaluate
         ALLOW ────────────────────────────────────────────────────────────┤
         ASK ──▶ approvals.broker ◀── bot.inbox ◀── channels               │
         DENY ─▶ result                                                    ▼
    bot.intake ◀─ store + session event ◀─ runner.process ◀─ hosts ◀─ audit.journal

    hosts    sandbox: enclosed, sees little; gateway: this machine, as the gateway's user
    guard    gate.guard, asked before every spawn: is it locked down, is it our own proof
    remote   a door of its own for other machines: a signed request, an access list, the same
             runner and guard, its own log; nobody is asked

The layers, each seeing only what stands below it (held by import-linter)::

                         gate                    sees both wings; nothing in core sees it
        people's wing     │     machines' wing   the wings never import each other
                          │         hosts
                          │         remote       alone holds keys
          approvals ──────┴────── runner | ipc   only runner spawns
              ▼                     ▼
            store                   │            alone speaks SQL
              ▼                     ▼
                 policy | audit                  policy does no I/O
                 ports | settings
                 model | errors
"""
