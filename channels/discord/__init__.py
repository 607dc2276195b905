"""Discord, on discord.py.

::

    settings     the section `channels.discord`
    layout       code blocks that no text can leave, counted in UTF-16 units
    buttons      buttons and their custom ids
    views        cards → messages and their JSON bodies (pure)
    groups       several prompts in one message (pure)
    incoming     presses, commands and messages → Inbound
    answers      ask the inbox, as long as Discord lets us answer
    telling      answer a press once, in time, in private
    commands     the application commands
    session      where a gateway session stands, for the next process
    sending      one message to the library
    deliveries   send, edit, open threads, on whatever client is connected
    proving      prove token, intent, servers, people and roles
    status       whether answers get through
    gateway      the library's client, on a gateway session that outlives its sockets
    line         connect, keep trying, know why not
    errors       Discord's errors → ChannelError
    channel      the Channel
"""
