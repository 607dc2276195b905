"""Check an installation for `sayso doctor`.

::

    installation  settings, state, hosts, names
    people        who can answer, named people, targets, quorums
    secret_files  where secret files are, and which users can read them
    network       the API, other users of this machine, remote exec
    executors     whether commands can run as other Unix users
    node          a node's files, gateway and clock; what a gateway knows about each node
    channels      tokens, scopes and people of each platform, and one real prompt
"""
