"""Keep the other machines that accept whole requests: who they are, and which is meant (S0).

::

    selection   the node that a word means: id, name, address, start of an id
    fingerprints  a key as words that two people can compare
    node_file   node.json, on the node
    prepared    which plans a node made: it runs no others
    ledger      which runs a node was ordered to make, and how each ended
    frames      the messages of both sides; link, listener, member and fleet carry them
    envelope    what was allowed, signed by the gateway
    questions   what is asked of a connected node, and its answer
    approver_keys  what passkeys signed, checked on the node
    backoff     how long a node waits before it connects again
    elapsed     the time that both ends of a connection use; setting a clock does not change it
"""
