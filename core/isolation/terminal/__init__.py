"""Hold the terminals that run in executors, as other Unix users (S2).

::

    terminals   opens, limits and ends them, each of them a run
    stream      one thread for each: reads, types, records; it never waits for the event loop
    recording   what a terminal showed, as an asciicast
    size        how large a terminal is
"""
