"""Judge commands and run them; know no chat platform, scheduler or web framework.

A request moves one way, one call a step (``core.gate`` is that line)::

    bot.intake ─▶ gate.submit ─▶ policy.resolve ─▶ runner.plan ─▶ policy.evaluate
                                                                      │
            ALLOW ────────────────────────────────────────────────────┤
            ASK ──▶ approvals.broker ◀── bot.inbox ◀── channels       │
            DENY ─▶ result                                            ▼
    bot.intake ◀─ store + session event ◀─ runner.process ◀─ hosts ◀─ audit.journal

The layers, each seeing only what stands below it (held by import-linter)::

                         gate                    sees both wings; nothing in core sees it
        people's wing     │     machines' wing   the wings never import each other
          approvals ──────┴────── hosts
              ▼                     ▼
            store              runner | ipc
              ▼                     ▼
                 policy | audit
                 ports | settings
                 model | errors
"""
