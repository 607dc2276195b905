"""Keep the other machines that take whole requests: who they are, and which one is meant (S0).

::

    selection   the node that a word means: id, name, address, start of an id
    words       a key as words that two people can compare
    node_file   node.json, on the node
    prepared    which plans a node made: it runs no others
    ledger      which runs a node was ordered, and how each ended
    frames      what both say to each other; link, listener, member and fleet carry it
    envelope    what was allowed, signed by the gateway
    backoff     how long a node waits until it connects again
"""
