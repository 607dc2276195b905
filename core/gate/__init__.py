"""Walk one request straight through; the only place that sees both wings (DESIGN §3).

::

    line        Gate: submit, answer, wait, cancel; one call a step
    rulebook    what an agent may do now: settings, session, approvals file
    sessions    what people set for one chat session: /exec, /elevated
    granted     what people allowed for a while, before anybody is asked again
    waiters     where requests stand, and who waits for an end
    execution   claim, run and tell; at most once (DESIGN §1 rule 6)
    lockdown    stop everything: $SAYSO_HOME/lockdown
    marks       the commands by which the gateway proves that its ways in hold
    guard       both of these, before each spawn
    tools       what agents may call by name, Exec among it (S3)
    announce    the journal's records, redacted
"""

from core.gate.line import Gate

__all__ = ["Gate"]
