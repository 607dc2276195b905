"""Ask through a companion that listens on this machine.

::

    channel   the channel: a dialog for each prompt, its answers, and a companion that disconnects
    question  what a dialog shows, from the prompt's card
"""
