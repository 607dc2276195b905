"""Open and run a store: the protocol, clock, transactions and wake-ups of both engines."""
