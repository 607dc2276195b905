"""Telegram, on python-telegram-bot, by long polling or behind a webhook.

::

    settings     the section `channels.telegram`
    layout       text and explicit entities, counted in UTF-16 units
    keyboards    buttons and their callback data
    prompts      cards → messages (pure)
    groups       several prompts → one message (pure)
    payloads     a prompt → bodies of Bot API calls, for `sayso prompt render` (pure)
    updates      updates → Inbound (pure)
    confirmed    what keeps an update at Telegram until its answer is committed
    connection   the requests of the poller, and the token kept out of the log
    pacing       the turns of messages and edits
    wiring       the library's application, and polling
    webhook      deliveries of Telegram
    intake       an update → the inbox
    sending      messages, edits and topics → the bot
    answers      what a person is told
    proving      the set-up, tried
    errors       Telegram's errors → ChannelError
    channel      the Channel
"""
