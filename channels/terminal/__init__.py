"""Ask in this terminal.

::

    channel  the channel: a framed prompt, and answers read line by line without blocking
    card     cards as lines in a frame (pure)
"""
