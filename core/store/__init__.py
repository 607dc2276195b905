"""Keep what must survive: approvals, runs, session events, the outbox (DESIGN §1 rules 5 to 8).

One set of operations (plain functions of SQLAlchemy Core), two runners: SQLite and PostgreSQL.
``await store.write(approvals.answer, …)`` runs one of them in one guarded transaction.
"""

from core.store.retention import prune
from core.store.seam import Store
from core.store.url import open_store

__all__ = ["Store", "open_store", "prune"]
