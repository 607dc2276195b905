"""Build the answers that several methods or commands use, and redact them.

The answer of one group of methods alone is beside them, as its params are.

::

    answer         the base of all models; OpenAPI and docs/reference/methods.md are generated from
                   them
    outcomes       how a run ended, with its output
    questions      approvals and the copies of their prompts
    records        events, sessions, history
    rules          the approvals file, grants, verdicts, skills, tools
    people         people, their accounts and tokens
    gateway        health, lockdown
    nodes          nodes and the requests to become one
    terminals      terminals, and what they show
    remote_bodies  remote exec, in its own JSON
    streaming      status and output while a caller waits
"""
