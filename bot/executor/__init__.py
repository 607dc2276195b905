"""Implement `sayso-executor`: run for the gateway as another Unix user, one process per request.

::

    main        descriptor 0 or --socket; what the process does before it can be trusted
    executor    the loop: answer calls, start supervisors, end everything with the connection
    prompt      a call that runs an agent, from its start to its end
    terminal    a call that starts a shell in its own terminal
    acp         the Agent Client Protocol, as a client of one prompt
    model_proxy adds the API key to the agent's model requests
    private_folder  the /tmp of a sandboxed run
    connected   whose process is at the other end of a connection to the model proxy
    connection  one end of the socket: lines and descriptors
    own_socket  --socket PATH: the one client that may connect

Standard library only, with the supervisor of ``core.runner`` and the frames of
``core.isolation.wire``; ``bot.executor_setup`` packs these into one file that root owns.
"""
