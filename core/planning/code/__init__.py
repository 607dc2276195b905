"""Find the code that a command runs: named by its words, fed by its input, or in unread texts.

::

    files   find and pin the files for a plan, as the interpreters would
    texts   what a command runs beyond its own script, through texts, input and other commands
    words   which words of a command its program will read as code

A command is its vector, ``argv``: the name of its program and its words.
"""
