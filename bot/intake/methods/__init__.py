"""Implement the methods, one module per group.

::

    runs            requests, followed to their end
    approvals       questions that wait, and answers
    grants          what people allowed for a while
    approvals_file  exec-approvals.json
    policy          what policy would do
    history         past records
    insight         what prompts cost
    people          the directory;  tokens: callers over the network;  login: the control page
    lockdown        shows, engages and lifts it;  health: the gateway's;  audit: the journal's
    tools           the tools of agents;  executors/: agents and terminals of other users
    remote          remote exec;  nodes/: other machines
"""
