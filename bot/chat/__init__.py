"""What people may do in a chat besides answering: look, run, watch, stop, set, pair.

::

    bot.inbox ─▶ answers   /approve, replies, "Always allow…"
              ─▶ lists     /pending, /history
              ─▶ running   /run, /tail, /stop
              ─▶ knobs     /exec, /elevated
              ─▶ pairing   /pair
"""
