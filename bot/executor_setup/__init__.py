"""Set up a machine for executors, and undo it; ``bot.doctor.executors`` checks it.

::

    setup     setup, undo, user add, user remove: the steps, each only if it is needed
    accounts  the users and their group: useradd, groupadd, gpasswd
    workspace a folder for the gateway and one other user
    sudoers   the rule, in a file of its own
    archive   the executor as one file
    closed_python  the interpreter that runs it
"""
