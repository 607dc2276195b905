"""Share what tests of several folders use.

::

    product_process     `python -m bot …` forked by its  fork_server;  process_state
    gateway_process     a gateway as a process;  forked_cli  commands of sayso;  terminal
    api_gateway         a gateway with its API in this process;  api_tokens
    gate                a gate over real parts;  chat  its inbox and outbox;  plans  runs
    stores              both engines;  store_records  postgres  postgres_relay
    three_platforms     a gateway over local chat platforms;  platform_processes  prompt_copies
    decision_history    what was decided, to compare a history with
    sandbox             a real sandbox;  podman
    remote_machines     a host and a client of remote exec
    git_repositories    version_managers  hidden_characters  clock_work  memory_use  file_size
    waiting             wait for other tasks and processes;  pace  how slow the machine is now
    order               long tests first
"""
