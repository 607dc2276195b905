"""Ask and be answered over signed HTTP, for whatever has no channel of its own.

::

    post, update, notify ─▶ signed POST to ``url`` ─▶ your service
    your service ─▶ signed POST to /sayso/answer on ``listen`` ─▶ inbox ─▶ the reply as JSON

Both directions carry an HMAC over direction, time and body, so that neither can be forged, changed,
replayed later or played back to its sender.
"""
