"""Know other machines that take whole requests: who they are, and which one is meant (S0).

::

    selection   the node that a word means: id, name, address, start of an id
    words       a key as words that two people can compare
    node_file   node.json, on the node
"""
