"""Set up a new installation: ``sayso init``.

::

    choices: a platform and its tokens
       ─▶ contact: a temporary gateway's channel waits for the code that the terminal shows
       ─▶ config_file: tokens and config.json5, each created once with mode 0600
       ─▶ initialise: a test prompt through a real gateway, then what to type next
"""
