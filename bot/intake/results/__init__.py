"""Build what the methods answer; redact it and hide what belongs to another agent.

::

    results        approvals, people, grants, sessions …
    outcomes       how a run ended, with its output
    status         where a request is, and where it is answered
    streaming      status and output while a caller waits
    visibility     what a caller may see
    remote_bodies  remote exec, in its own JSON
"""
