"""Try the store: one write that reaches the disk, and what its clock and its reserve say."""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.store.engine import replicas
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of


@dataclass(frozen=True, slots=True)
class Probed:
    """The database's time (epoch ms), and whether only the reserve for denials is left."""

    now_ms: int
    full: bool


def probe(conn: Connection, owner: str, ttl_ms: int) -> Probed:
    """Write this gateway's heartbeat once more; nothing else, and nothing that grows.

    Raises:
        StoreError: the database does not take it.
    """
    replicas.heartbeat(conn, owner, ttl_ms)
    return Probed(now_ms(conn), context_of(conn).full)
