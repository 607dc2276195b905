"""Describe what programs do: what a command really runs, reads and starts. No judgement, no I/O.

::

    program                           all that the tables say about one program
    wrappers, wrapper_grammar, unwrap, shell_payload   the commands inside wrappers and shells
    carriers, find_exec               programs that run others; the commands of find
    inline_code, started              code in arguments, and in those of a program that they start
    safe_bins, implicit_reads         what a program reads besides its operands
    required_operands                 how many operands a program needs to do anything
    shims                             files that choose the program that really runs
    neutral_environment               variables that switch off what it would obey besides
    actions, summary                  what a command does, in words for people
    profiles                          the shipped tables (``data``) of programs and arguments
"""
