"""Ask people, and take their answers; the people's wing.

::

    broker      the state machine: open, answer, wait, expire; every change is one guarded
                statement of ``core.store``, everything here is only a wake-up
    approvers   who may answer what: listed ids only, never the requester
    forwarding  which places a prompt goes to
    sentences   the true sentence for each way an answer can end
    rendering   the only text that leaves: escaped and masked (``Redacted``)
    allowlist_file   exec-approvals.json, where allow-always is remembered
"""
