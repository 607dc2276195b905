"""Carry out what people ask for in a chat: look, run, watch, stop, set, pair, answer.

::

    inbox ─▶ answers           /approve, replies, "Always allow…"
          ─▶ listings          /pending, /history
          ─▶ runs              /run, /tail, /stop
          ─▶ session_settings  /exec, /elevated
          ─▶ agents            /agent; agent_threads shows what is said, in texts from agent_text
          ─▶ pairing, nodes    /pair, /node
          ─▶ login             /login

    permissions  who may look and who may act
"""
