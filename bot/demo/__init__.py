"""Show the whole product in a scratch home: a gateway, agents that ask, people, real runs.

::

    play      the scenes: what is asked, who answers, when it ends
    ending    what a signal does
    steps     what is asked, a harmless command each
    viewer    what is printed
    screen    a server of its own: three fake chats and the control page side by side
    chats     what the fake chats show, and what is pressed and typed there

Everything is real but the agents' wits and the chats: the embedded store, gateway.sock, the policy,
the prompts, the control page, the children. Nothing of the user's own home is touched.
"""
