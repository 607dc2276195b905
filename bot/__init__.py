"""Wire the programs together, start and stop them; nothing imports this package.

::

    cli        sayso …: one file a command group; heavy imports inside the command
    settings   config.json5, environment and secret files become one frozen Settings
    app        the composition root of the gateway: what is made, in which order it starts
    intake     how requests come in: the socket, and the one table of methods
    api        the same table over HTTP and WebSocket
    chat       what senders may do in a chat: /run, /stop, /history …
    inbox      a person's reply, authorised, to the gate
    outbox     committed changes, to every copy of a prompt
    clock      what happens by time
    weekly     the look at what prompts cost, told to people once a week
    gate_proof a harmless marked command down every way in, to see that it is held
    health     what is well and what is not, part by part
"""
