"""Help people with policy: test it, try it on the past, see what it costs, bring rules over.

``judge`` reads a configuration and judges with it; ``expectations``, ``backtest``, ``suggest``
and ``importing`` do the work of the commands of these names. Nothing here runs a command.
"""
