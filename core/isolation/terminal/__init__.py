"""Hold the terminals that run in executors, as other Unix users (S2).

::

    terminals   opens, limits and ends them, each of them a run
    stream      one thread for each: reads, types, records; nothing of it waits for the loop
    recording   what a terminal showed, as an asciicast
    size        how large a terminal is
"""
