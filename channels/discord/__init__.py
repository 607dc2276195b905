"""Discord, using discord.py.

In addition to the files that every platform has (see ``channels``)::

    gateway_session       the position of a gateway session, for the next process
    connection_status     whether answers get through
    send_message          one message, passed to the library
    application_commands  every command, registered with Discord
    presses               the answer to a press: the message in its final state, if that is in time
"""
