"""Help people with policy: test it, try it on the past, see what it costs, import rules.

``judge`` reads a configuration and judges with it; ``expectations``, ``backtest``, ``suggest``
and ``importing`` implement the commands of these names. Nothing here runs a command.
"""
