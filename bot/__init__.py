"""Build, start and stop the programs; nothing imports this package.

::

    cli/          sayso …: one module or folder per command; slow imports inside the command
    companion/    the screen of `sayso companion`, and its notification
    evidence/     the evidence for a part of the past, in one file that can be checked offline
    demo/         the whole product in a temporary home
    setup/        sayso init: a platform, its tokens, config.json5, a test prompt
    app           the gateway: what is built, the order in which it starts, how it stops
    node/         a node: it runs what the gateway of another machine asks for
    wiring/       the parts of a running gateway, its reload, its log
    page/         the control page, served by the API
    api/          the methods over HTTP and WebSocket
    doctor/       the checks of `sayso doctor`
    jobs/         background work: the outbox, approved runs, recovery, all timed work
    chat/         what people do in a chat: answer, /run, /stop, /history …
    intake/       how requests come in: the socket, and the one table of methods
    policy_tools/ test, backtest and suggest policy; import rules
    explain/      judge a command without running it
    factories/    channels, policy, rules, the sandbox and remote exec, from the settings
    health/       what works and what does not, part by part
    executor_setup/  group, users, sudo rule and the executor's file
    executor/     sayso-executor: another Unix user's process, standard library only
    service/      reports to systemd, and the unit
    gate_proof/   a harmless marked command through every entry point, to prove that it is held; the
                  notices of every lockdown
    announcements notices to everybody who is asked, about no question
    client        calls to a gateway over its socket;  client_errors  what can go wrong with one
    settings/     config.json5, environment and secret files become one frozen Settings
    documentation where the documents named in messages are;  counted  a number with its noun
    shell_path    what to type before the shell finds sayso

A package imports only from those below it; a contract in pyproject.toml holds this.
"""
