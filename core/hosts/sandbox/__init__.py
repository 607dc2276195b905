"""The host ``sandbox`` (S0): commands that see little, change one folder and reach no network.

::

    host               runs plans inside a sandbox, or not at all
    by_user            the same, as the users that plans are bound to
    select_backend     chooses a backend that a probe proved to work
    probe              proves that a backend encloses
    backend            what a backend is;  backends/ are bubblewrap and containers
    filesystem/        what a run sees and changes;  filters/ are seccomp and Landlock
    environment        the environment of a sandboxed command
    tmp_dir            one private folder for each run, as /tmp
    memfd              bytes in memory that no reader can change
    internal_commands  the gateway's own commands: probes, and those that end containers
"""
