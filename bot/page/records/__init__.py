"""Show past requests and what the gateway keeps.

::

    history       what was asked and how it ended, its export, the journal's chain
    story         one request, step by step
    insight       what prompts cost;  plots  the same, computed as numbers
    lists         people, tokens, grants, channels, sessions;  list_actions  what may be done to a
                  row
"""
