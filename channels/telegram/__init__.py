"""Telegram, using python-telegram-bot, by long polling or behind a webhook.

In addition to the files that every platform has (see ``channels``)::

    polling          the requests of the poller, and the outcome of the last one
    webhook          updates that Telegram delivers to our URL
    update_ack       keeps an update at Telegram until its answer is committed
"""
