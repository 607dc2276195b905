"""Parse a shell line by two independent readers; import ``core.model`` only.

::

    reader             reads a line for certain, or not at all: both readers must agree
    tree_reader        the first: by the syntax tree of tree-sitter-bash
    tree_nodes         the nodes that it accepts;  tree_words, tree_braces: within one word
    posix_reader       the second, without a tree
    posix_refusals     what it does not know;  posix_words, posix_braces: within one word
    working_directory  which commands a `cd` leads
    placeholders       what is known only when a command runs
    quoting            vectors as a line that means exactly them
    unread_commands    what may be the commands of a line that was not read
"""
