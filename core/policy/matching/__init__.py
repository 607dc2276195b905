"""Match words, arguments and paths with the patterns of entries and rules.

::

    allowlist         what may run for one agent
    allowlist_union   two allowlists as if they were one
    matchers          what one rule is about: a vector, paths, or an effect
    argv_template     matches a vector with a template, element by element
    template_element  reads elements: literals, or types of one or more words
    compound_element  elements of literals and typed fields: `http://<HOST:local>:<PORT>/x`
    match_element     one word with one element
    option_sets       `<OPTS:name>`
    path_arguments    the parts of words that may name paths
    path_patterns     patterns of absolute paths
    word_pattern      patterns of words joined by blanks, for rules that ask or deny
"""
