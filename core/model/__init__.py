"""Name the things Sayso talks about; import nothing of ours.

Everything here is frozen and slotted. The words are fixed by ``docs/glossary.md``.

::

    command         from the words of a request to the vectors that will run
    stdio           what a run reads, and how its output is kept
    policy          what may run where, and when a person is asked
    decision        what was decided, by which rule, and why
    approval        a question, from asking to its answer
    evidence        what people were shown before they answered
    pending_limits  how many questions may wait
    result          how a request ended; a denial is a result
    events          what an agent's session receives
    identity        who asks, who answers, and where
    access          the scopes that a token holds and a method requires
    node            another machine that takes whole requests
    address         where exec frames go
"""
