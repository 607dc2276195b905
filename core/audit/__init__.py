"""Keep the audit journal: what was decided is on disk before anything runs.

::

    journal   one writer thread; a record is durable when ``append`` returns
    open      take the file for one writer, and repair what a power cut left half written
    rotate    end a segment and begin the next
    segments  the names of segments, and where each begins
    latest    the last records of some runs
    chain     the form of a line, and the SHA-256 that ties it to the line before
    verify    check a journal offline, with the standard library only
    verify_export   check an export of evidence offline: the file `verify.py`
"""
