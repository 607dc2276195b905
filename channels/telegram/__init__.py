"""Telegram, on python-telegram-bot in long polling.

::

    settings     the section `channels.telegram`
    layout       text and explicit entities, counted in UTF-16 units
    keyboards    buttons and their callback data
    prompts      cards → messages (pure)
    updates      updates → Inbound (pure)
    confirmed    the queue that keeps an update at Telegram until its answer is committed
    connection   the requests, the limits and the health of the line
    errors       Telegram's errors → ChannelError
    channel      the Channel
"""
