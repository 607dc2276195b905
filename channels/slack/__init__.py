"""Slack, on slack-bolt (async) in Socket Mode or behind signed HTTP requests.

::

    settings     the section `channels.slack`
    layout       text cut and counted as Slack counts, in boxes where nothing is markup
    buttons      buttons and what a press of them sends back
    blocks       cards → the bodies of chat.postMessage and chat.update (pure)
    groups       several prompts in one message (pure)
    events       what Slack sends → Inbound (pure)
    intake       to the inbox, once each, and acknowledged once committed
    membership   which user groups a person is in, asked at the click
    notes        the private answer to a press, a command or a message
    calls        Web API calls: pace, refusals, who we are
    pacing       the rates of messages and of edits
    proving      try tokens, scopes and approvers for `sayso doctor`
    deliveries   find a message again whose sending was not confirmed
    line         the socket or the HTTP listener that answers come in by
    masking      keep tokens out of the library's log
    errors       Slack's errors → ChannelError
    channel      the Channel
"""
