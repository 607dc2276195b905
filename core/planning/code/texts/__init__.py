"""Find what a command runs beyond its own script, through texts, its input and other commands.

::

    reached    what a command or a text runs beyond its own script
    wrapping   where a wrapper's command begins, and whether it starts a shell
    spreading  where words of the input may choose what runs: xargs, parallel
    found      the result
"""
