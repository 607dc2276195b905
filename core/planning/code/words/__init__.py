"""Recognise the words of a command that its program will read as code.

::

    arguments      the words of a command that its program will read as code
    options        the values of options that name files of code
    reloading      which programs load their code again while they run
    inputs         whether an interpreter takes code from its input
    interpreters   which programs take code, and how: by words, options or input
    option_files   which other programs obey a file that their words name
    shell_words    the words of a shell: scripts, texts of ``-c`` and arguments
    assigned       the variables that words set, and what they load
    loading        the modules that code in words loads
    places         the words read as if they named the home or the working folder
    spoken         the words that name an interpreter, and the scripts of sed and awk
    shortened      the names that a shell makes of words: `${f%.c}`
    parts          the parts of one word that may name a file
"""
