"""Run listed commands for another machine's agent, and ask another machine to run them (S4).

::

    client ──▶ connecting ──▶ link ════ frames ════▶ listening ──▶ service ──▶ runner
       │                                                              │
    identity, contacts ─▶ envelope                admission ◀── acl, contacts, nonces, caps
                                                  hosted ──▶ lease, exec_log

    acl          exec-acl.toml: who may run which vectors here, and the caps; acl_file loads it
    complaints   what is wrong in a list or a contact, in our own words
    identity     the keys of this agent and this machine
    contacts     who is known, where, and whether it is trusted
    envelope     a request, signed by its agent and bound to its machine
    admission    the six conditions of S4, in its order
    hosted       one run: its lease, its output, its entries in the exec log
    link         the port that frames go through; TLS on loopback and Unix sockets here
"""
