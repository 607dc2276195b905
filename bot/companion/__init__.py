"""Show questions to the person at this machine: `sayso companion`.

::

    run           the socket, the screen and the notifications together
    screen        the terminal UI: one question in front, the others in a list
    dialog_queue  what waits for an answer, in its order
    notification  a desktop notification, if there is a session bus
    work          commands that run in this context, if exec-approvals.json says so

It decides nothing: an answer goes back to the gateway that asked.
"""
