"""Run listed commands for another machine's agent, and ask another machine to run them (S4).

::

    client ─▶ wire.connect ─▶ wire.link ═══ frames ═══▶ wire.listener ─▶ host.service ─▶ runner
       │                                                                   │
    trust.envelope                            host.admission ◀── acl, trust
                                              host.run ──▶ host.lease, host.exec_log

    client   ask another machine to run a command
    host     admission: the six conditions of S4, in its order; run: one admitted run
    wire     frames, and the link that they go through; TLS on loopback and Unix sockets here
    acl      exec-acl.toml: who may run which vectors here, and the caps
    trust    the keys of this agent and this machine, contacts, signed requests, replays
    denials  why a request did not run;  result  how one that ran has ended
"""
