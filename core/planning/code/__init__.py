"""Find the code that a command runs: named by its words, fed by its input, or in unread texts.

::

    interpreters   which programs take code, and how: by words, options or input
    wrapping       where a wrapper's command begins, and whether it starts a shell
    shell_words    the words of a shell: scripts, texts of ``-c`` and arguments
    words          the parts of one word that may name a file
    arguments      the words of a command that its program will read as code
    inputs         whether an interpreter takes code from its input
    assigned       the variables that words set, and what they load
    spoken         the words that name an interpreter, and the scripts of sed and awk
    reached        what a command or a text runs beyond its own script; ``found`` is the result
    lookup         the paths that an interpreter tries for a word; ``packages``: Node's `main`
    search         the files at these paths, and the paths at which none may appear
    operands       pins these files for a plan
    fed            pins the files that a pipeline feeds to an interpreter
    caches         the files in which Python caches compiled code

A command is its vector, ``argv``: the name of its program and its words.
"""
