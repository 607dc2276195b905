"""Keep what must survive: approvals, runs, session events, the outbox (invariants 5 to 8).

One set of operations (plain functions of SQLAlchemy Core), two runners: SQLite and PostgreSQL.
``await store.write(approvals.answer, …)`` runs one of them in one guarded transaction.

::

    decision   take an answer, with the edits that show what it decided
    views      query across the packages below: owners, counts, status
    runs       claim once, finish once, recover
    approvals  ask, answer, expire, find; grants
    outbox     what must reach people until a platform has accepted it
    people     named people, their accounts and tokens
    sessions   events, origins, overrides, threads
    engine     the protocol of a store, its clock; sqlite and postgres
    open       the store that a URL names;  retention  forget what is old
    schema     tables and records; migrations/ brings an older database to them
"""

from core.store.engine.protocol import Store
from core.store.open import open_store
from core.store.retention import prune

__all__ = ["Store", "open_store", "prune"]
