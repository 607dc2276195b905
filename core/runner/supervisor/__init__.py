"""Run jobs in a child process; standard library only.

::

    launcher         forks a supervisor whenever the gateway wants one
    main             runs a job, ends what it left, reports
    spawn            starts the commands of one pipeline
    connectors       what follows in a line, as in a shell
    pinned_files/    gives commands the files that were approved
    output/          reads and keeps what is printed
    processes/       finds, limits and ends the processes
    report           how a run ended
    protocol         messages between gateway and supervisor
    control_channel  sends and receives them
    process_setup    session, signals, limits
"""
