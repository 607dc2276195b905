"""Offer tools to agents that were granted them, each with one strict set of arguments (S3).

::

    registry     Tools: is it granted, is it known, is it in the journal
    protocol     what a call says, and what it is answered
    builtin      Which, and the seam that leaves Exec out
    arguments    the arguments of Exec, checked one by one
    files        whether the agent's file grants cover the program and the folder
    redaction    an argument vector for the journal
    results      the result of a run as S3 has it
    exec_tool    Exec: from arguments to Gate.submit, from the end of a run to S3's result

A tool is one more entry point: Exec takes the same path through the gate as every other request.
"""
