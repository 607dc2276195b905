"""Help people to find and type commands: `sayso help`, `sayso completion` and the man page.

::

    command     sayso help TOPIC, sayso completion SHELL
    topics      what applies to every command: exit codes, environment, files
    man         the man page, from the parsers
    completion  what can be typed at the cursor, from the parsers and the gateway; a script per
                shell
"""
