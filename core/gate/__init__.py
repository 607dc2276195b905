"""Take one request from submission to its end; the only place that sees both wings.

::

    gate              Gate: submit, answer, wait, cancel; one call a step
    effective_policy  what an agent may do now: settings, session, approvals file
    sessions          what people set for one chat session: /exec, /elevated
    two_judges        what a node and this gateway say about one plan: the stricter verdict holds
    apply_grants      what people allowed for a while, before anybody is asked again
    grant_preview     what an allow-always would have let run, for whoever is about to give it
    run_status        the status of requests, and the callers that wait for an end
    execution         claim, run and report; at most once (invariant 6)
    cancellation      what ends a request early: its question, its start, its command
    claims            the one right to start a run, from policy or from people
    allow_always      what people allowed for good, written into the approvals file
    journal           what became of requests, on its way to the journal
    closing           a gateway that stops: nothing new, and an end of what has begun
    guards            lockdown and the gate proof's marks, checked before each spawn
    tools             what agents may call by name, Exec among it (S3)
"""
