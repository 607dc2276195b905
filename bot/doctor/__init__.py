"""Check an installation for `sayso doctor`.

::

    installation  settings, state, people, hosts, names
    network       the API, other users of this machine, remote exec
    channels      tokens, scopes and people of each platform, and one real prompt
    finding       how one check ended
"""
