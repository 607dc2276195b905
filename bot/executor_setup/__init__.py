"""Set up a machine for executors, and undo it; ``bot.doctor.executors`` looks whether it is.

::

    setup     setup, undo, user add, user remove: the steps, each only where it is needed
    accounts  the users and their group: useradd, groupadd, gpasswd
    workspace a folder for the gateway and one other user
    sudoers   the rule, in one file of its own
    archive   the executor as one file
    closed_python  the interpreter that it runs by
"""
