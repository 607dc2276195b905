"""Judge a plan: one verdict for a request, with its reasons.

::

    precedence      the effective policy: the first place, or the file where it is stricter
    evaluate        one verdict for a line, the strictest of its commands
    segment         one command of it;  verdict: what it is judged against, and what comes out
    by_allowlist    a program that hides no other
    direct_payload  whether a shell's payload runs without the shell
    environment     the environment changes that a request asks for
    stdin           what is put on standard input
    terminal        what a program may do because its streams are a terminal
    exposure        what the line does not show: a replaceable script or file
    agent_part      what is done by no command: a prompt, a tool, a terminal
    reasons         the reasons as whole sentences
    allow_always    what allow-always would store
    script_pins     the content that it holds for
    preview         the past commands that an entry would have let run
"""
