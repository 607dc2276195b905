"""Describe what programs do: what a command really runs, reads and starts. No judgement, no I/O.

::

    wrappers, unwrap, shell_payload   the commands inside wrappers and shells
    carriers, find_exec, inline_code  programs that run others, or code from their arguments
    safe_bins, implicit_reads         what a program reads besides its operands
    actions, summary                  what a command does, in words for people
    profiles                          the shipped tables (``data``) of programs and arguments
"""
