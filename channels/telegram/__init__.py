"""Telegram, on python-telegram-bot, by long polling or behind a webhook.

Beside the files that every platform has (see ``channels``)::

    polling          the requests of the poller, and what became of the last one
    webhook          updates that Telegram delivers to a URL of ours
    update_ack       what keeps an update at Telegram until its answer is committed
"""
