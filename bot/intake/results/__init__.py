"""Build what the methods answer; redact it and hide what belongs to another agent.

::

    answer         the base of all models; OpenAPI and docs/reference/methods.md are made from them
    outcomes       how a run ended, with its output
    questions      approvals and the copies of their prompts
    records        events, sessions, history
    rules          the approvals file, grants, verdicts, skills, tools
    people         people, their accounts and tokens
    gateway        health, lockdown
    nodes          nodes, and who wants to be one
    remote_bodies  remote exec, in its own JSON
    streaming      status and output while a caller waits
    visibility     what a caller may see
"""
