"""Set up a machine for executors, look whether it is, and undo it.

::

    setup     setup, undo, user add, user remove: the steps, each only where it is needed
    examine   the checks of `sayso doctor executor`
    system    useradd, groupadd, visudo …: run as every other process is
    sudoers   the rule, in one file of its own
    archive   the executor as one file
"""
