"""Read, edit and keep exec-approvals.json.

::

    file       the file itself: the policy floor, and where allow-always is remembered
    schema     reads its text, version 1
    document   what it says for each agent: settings and allowlists
    edit       changes its plain JSON; what is not touched stays as it was written
    base_hash  replaces it only where it still is what was read
    usage      notes when and for what an entry was used
    last_use   reads when an entry was last used
    idle       expires entries that have not been used for long
    errors     what is wrong with a value, never the value itself
"""
