"""Notify browsers by web push (RFC 8030, 8291, 8292): short, masked, encrypted for the browser.

::

    channel    the Channel: a place is a browser subscribed on the control page
    payload    cards → what a notification shows (pure)
    services   which push services may be contacted (pure)

Answers come back through the control page (``bot.page.push``), with the token that the notification
was given.
"""
