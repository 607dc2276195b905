"""Ask and be answered over signed HTTP, for any service without its own channel.

::

    post, update, notify ─▶ signed POST to ``url`` ─▶ your service
    your service ─▶ signed POST to /sayso/answer on ``listen`` ─▶ inbox ─▶ the reply as JSON

    messages  cards to JSON, JSON to answers (pure)
    inbound   answers over HTTP
    signing   HMAC over direction, time and body

Both directions carry an HMAC over direction, time and body, so that a message cannot be forged,
changed, replayed later or reflected to its sender.
"""
