"""Show prompts to people and bring their answers back; decide nothing.

::

    base             the Channel protocol, and the Inbox that answers go to
    cards/           prompt, outcome and notice for every platform, from the bound plan
    commands         what people may ask for in a chat;  grammar  how it is typed (pure)
    argument_values  durations and settings in commands
    button_payload   what a button means, in at most 58 bytes
    background       tasks that nobody waits for, until the channel stops; replies that await their
                     turn
    pacing           when a message may be sent, by a platform's rate
    shown_text       what a prompt shows, as text kept as evidence
    payload_preview  what a platform would be sent, for `sayso prompt render`
    registry         name → class; entry points `sayso.channels`
    plugin           the settings of a third party's channel
    listener         a server for requests that a platform delivers
    utf16            text counted as Telegram and Discord count it
    memory           a channel inside this process (demo, tests)
    terminal/        this terminal
    companion/       a companion that listens on this machine
    push/            notifications of browsers, by web push
    slack/  telegram/  discord/  webhook/

The three chat platforms have the same file names for the same roles::

    settings        its section of the configuration
    channel         the Channel
    connection      connect, keep trying, report why not (Telegram: in channel)
    transport       how events arrive: a socket, polls, requests
    inbound_events  an event → Inbound
    inbound         Inbound → the inbox, until it is committed
    replies         replies to the person behind a press, a command or a message
    outbound        send, edit, open threads
    render/         layout, buttons, messages, prompt_groups: cards → messages (pure)
    rate_limits     the platform's limits, kept
    self_check      tokens, scopes and people, for `sayso doctor`
    log_redaction   no token in the library's log (Discord's library logs none)
    errors          the platform's errors → ChannelError

A channel knows no policy, no store and no approver list: it passes who said what to the inbox and
shows the inbox's reply. A chat SDK stays in its platform's folder.
"""
