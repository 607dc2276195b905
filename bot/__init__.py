"""Wire the programs together, start and stop them; nothing imports this package.

::

    cli        sayso …: one file a command group; heavy imports inside the command
    settings   config.json5, environment and secret files become one frozen Settings
    app        the composition root of the gateway: what is made, in which order it starts
    intake     how requests come in
    inbox      a person's reply, authorised, to the gate
    outbox     committed changes, to every copy of a prompt
    clock      what happens by time
"""
