"""Ask at a companion that listens on this machine.

::

    channel   the channel: a dialog for each prompt, its answers, and the companion that goes away
    question  what a dialog shows, from the prompt's card
"""
