"""Show prompts to people and bring their answers back; decide nothing.

::

    base        the Channel protocol, and the Inbox that answers go to
    cards       platform-neutral prompt, outcome and notice, from the bound plan
    wording     the words in cards: programs, endings, durations, digests
    commands    the grammar of what people type (pure)
    registry    name → class; entry points `sayso.channels`
    memory      inside this process (demo, tests)
    terminal    this terminal
    telegram/   Telegram, on python-telegram-bot

A channel knows no policy, no store and no approver list: it passes who said what to the inbox and
shows what the inbox answers. A chat SDK stays in its platform's folder.
"""
