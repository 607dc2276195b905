"""Ask people, and take their answers; the people's wing.

::

    broker     the state machine: ask and answer together, wait for an end; every change is one
               guarded statement of ``core.store``, everything here is only a wake-up
    ask        open a question and choose its places
    answer     take a person's answer: who may give it, what it decides
    step_up    prove who allows, where a question requires it
    routing    who may answer what (listed ids only, never the requester), and where prompts go
    file       exec-approvals.json, where allow-always is remembered
    seen       who looked at which question, until it is on record
    messages   the true sentence for each way an answer can end
"""
