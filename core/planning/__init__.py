"""Turn a request into a bound plan, and verify the plan before it runs.

::

    planner          plans a request: the way in
    request_checks   what makes a request impossible to run as given
    expand           the vectors of a reading: folders, home, globs
    command          plans one command: its program, its code, what it wraps
    code/            the code that a command runs
    python_modules   modules that `python -m` imports;  library_modules: those of perl and ruby
    git/             what git would start or obey;  shims: which program a shim starts
    steering         what around a command makes it do more than its vector says
    replacing        the file that a move or a copy would replace
    paths/           globs, links, the search path, pins of files
    environment      the environment of a child
    direct_exec      the plan that is started without a shell that is only asked for
    terminal_part    the opening of a terminal
    further_code     binds what words do not name as they stand; plans once more before the start
    digest           one digest of a plan: equal digests mean the same run
    verify           opens what a plan bound, and checks that it is the same
"""
