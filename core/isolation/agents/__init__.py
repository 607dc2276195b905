"""Run agents in executors, and have people decide on what they want to do (S2).

::

    agents       prompts: agents that run in executors
    tool_calls   what they want to do: asked about, withdrawn, permitted once
    runtime      how an agent is started
    said         what an agent says, kept and watched
    key_command  the command that prints a key
"""
