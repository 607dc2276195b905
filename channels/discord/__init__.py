"""Discord, on discord.py.

::

    settings     the section `channels.discord`
    layout       code blocks that no text can leave, counted in UTF-16 units
    buttons      buttons and their custom ids
    views        cards → messages and their JSON bodies (pure)
    incoming     presses, commands and messages → Inbound
    answers      acknowledge in time, ask the inbox, tell the person
    commands     the application commands /approve and /pending
    session      where a gateway session stands, for the next process
    sending      one message to the library; buttons of earlier lives
    status       whether answers get through
    gateway      the library's client, on a gateway session that outlives its sockets
    line         connect, keep trying, know why not
    errors       Discord's errors → ChannelError
    channel      the Channel
"""
