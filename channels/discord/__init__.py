"""Discord, on discord.py.

Beside the files that every platform has (see ``channels``)::

    gateway_session       where a gateway session is, for the next process
    connection_status     whether answers get through
    send_message          one message to the library
    application_commands  every command, registered with Discord
"""
