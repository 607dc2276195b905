"""Announce to other gateways on one PostgreSQL that this one is alive; probe the store by it."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.schema.tables import replicas

LEASE_MS = 6_000
"""How long a gateway counts as alive after its last heartbeat, which comes every 2 s."""

_EXPIRES = bindparam("p_expires", type_=replicas.c.expires_ms.type)
_BEAT = (
    insert(replicas)
    .values(id=bindparam("p_id"), expires_ms=_EXPIRES, process=bindparam("p_process"))
    .on_conflict_do_update(index_elements=[replicas.c.id], set_={"expires_ms": _EXPIRES})
)
_LEAVE = delete(replicas).where(replicas.c.id == bindparam("p_id"))
_ALIVE = select(replicas.c.id).where(replicas.c.expires_ms > bindparam("p_now"))
_OTHERS = select(replicas.c.id, replicas.c.process).where(replicas.c.id != bindparam("p_id"))


@dataclass(frozen=True, slots=True)
class Replica:
    """A gateway; ``process`` is what it called its process, ``None`` where it did not."""

    id: str
    process: str | None


def heartbeat(conn: Connection, owner: str, ttl_ms: int, process: str | None = None) -> None:
    """Keep ``owner`` alive for ``ttl_ms``; beat before the first run and at a third of that.

    ``process`` names the owner's process for gateways on the same machine; the first beat keeps it.
    When the beat ends, another replica's ``recovery.recover`` calls this owner's runs unknown.
    """
    expires = now_ms(conn) + ttl_ms
    conn.execute(_BEAT, {"p_id": owner, "p_expires": expires, "p_process": process})


def leave(conn: Connection, owner: str) -> None:
    """Forget a replica that stops cleanly and has no runs left."""
    conn.execute(_LEAVE, {"p_id": owner})


def alive(conn: Connection) -> tuple[str, ...]:
    """Return the owners whose heartbeat has not ended."""
    return tuple(conn.execute(_ALIVE, {"p_now": now_ms(conn)}).scalars())


def others(conn: Connection, owner: str) -> tuple[Replica, ...]:
    """Return all replicas but ``owner``, whether they beat or not."""
    return tuple(Replica(row.id, row.process) for row in conn.execute(_OTHERS, {"p_id": owner}))


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
    heartbeat(conn, owner, ttl_ms)
    return Probed(now_ms(conn), context_of(conn).full)
