"""Notify browsers by web push (RFC 8030, 8291, 8292): short, masked, encrypted for the browser.

::

    channel    the Channel: a place is a browser that was subscribed on the control page
    payload    cards → what a notification shows (pure)
    services   which push services are spoken to (pure)

Answers come back over the control page (``bot.page.push``), with what the notification was given.
"""
