"""Build channels, policy, rules, the sandbox and remote exec from the settings.

No gateway is needed for these: `sayso doctor`, `sayso policy` and the methods that explain use
them as well as ``bot.wiring``.
"""
