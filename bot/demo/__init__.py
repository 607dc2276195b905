"""Show the whole product in a temporary home: a gateway, agents that ask, people, real runs.

::

    play      the scenes: what is asked, who answers, when it ends
    signals   what a signal does
    steps     what is asked, each a harmless command
    viewer    what is printed
    screen    a separate server: three fake chats and the control page side by side
    chats     what the fake chats show, and what is pressed and typed there

Everything is real except the agents' intelligence and the chats: the embedded store, gateway.sock,
the policy, the prompts, the control page, the child processes. Nothing of the user's own home is
touched.
"""
