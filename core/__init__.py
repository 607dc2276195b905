"""Judge commands and run them; know no chat platform, scheduler or web framework.

A request moves one way, one call a step (``core.gate.gate`` begins each)::

    bot.intake, bot.api, bot.chat, gate.tools
      ─▶ gate.gate                 submit, answer, wait, cancel
      ─▶ policy.judge.precedence   the effective policy: call, session, agent, global
      ─▶ planning.planner          read by core.shell, resolved, pinned: a bound plan
      ─▶ policy.judge.evaluate     allow, ask or deny
           deny   ─▶ the journal, then the result
           ask    ─▶ approvals.broker ◀─▶ store ◀─▶ bot.jobs.outbox ◀─▶ channels
           allow  ─▶ gate.execution     on the plan's host or nowhere
                  ─▶ hosts ─▶ runner    verified again, guarded, then claimed
                       ─▶ gate.claims   once: audit.journal and store, before anything runs
                       ─▶ runner.supervisor, a process of its own
                  ─▶ store: the result and the session's event

    remote   an entry point of its own for other machines: a signed request, an access list, the
             same runner and guard, its own log; nobody is asked

The layers, each importing only from below it (import contracts in pyproject.toml)::

                           gate                     sees both wings; nothing in core sees it
        people's wing       │      machines' wing   the wings never import each other
                            │      hosts | remote
                            │        isolation      starts executors, as other users
          approvals ────────┴────── runner | nodes  only runner starts commands
              ▼                        ▼
            store                   planning        only store speaks SQL
              ▼                        ▼
                          policy                    policy does no I/O
                              ▼
                programs | text | trust | companion     only trust reads keys; companion asks here
      shell | settings | audit | ipc | files | ports
               model | errors | validation
"""
