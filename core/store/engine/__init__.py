"""Open and run a store: the protocol, clock, transactions and wake-ups of both engines.

::

    protocol       what every engine offers;  sqlite/ and postgres/ implement it
    clock          the database's clock
    context        what an operation knows of its runner
    notifications  queues wake-ups in a transaction;  wakeups waits for them
    errors         what drivers raise, as errors of the store
    outage         logs once that the database is away
    replicas       says to other gateways on one database that this one is alive
    read_only      reads a store from outside its gateway
    timed          how long writes took
"""
