"""Check an installation for `sayso doctor`.

::

    installation  settings, state, hosts, names
    people        who can answer, named people, targets, quorums
    secret_files  where secret files lead, and who can read them
    network       the API, other users of this machine, remote exec
    channels      tokens, scopes and people of each platform, and one real prompt
"""
