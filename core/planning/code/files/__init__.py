"""Find and pin the files of code for a plan, as the interpreters would find them.

::

    operands     pins what a program and the interpreters that a vector names will read
    named        pins what words lead to if it is not known which program reads them, or how
    bulk_lookup  looks up many words in many folders
    matched      finds the files that the globs of a text name
    by_name      pins what is started by its name from folders that are not the system's
    fed          pins the files that a pipeline feeds to an interpreter
    own_output   the files that a program makes for its next start
    search       the files at the paths of a word, and the paths at which none may appear
    lookup       the paths that an interpreter tries for a word
    packages     the `main` of a package of Node
    caches       the files in which Python caches compiled code
"""
