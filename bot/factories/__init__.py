"""Build channels, policy, rules, the sandbox and remote exec from the settings.

No gateway is needed for these: `sayso doctor`, `sayso policy` and the methods that explain use
them as well as ``bot.wiring``.

::

    policy       the rulebook;  rules: rules, capabilities, skills
    channels     the channels, and how people are reached;  push: to browsers
    sandbox      the host `sandbox`;  executors: other Unix users
    agents       what runs agents
    remote_exec  remote exec
    api_port     the port of the API
"""
