"""Tell the other gateways on one PostgreSQL that this one lives."""

from sqlalchemy import Connection, bindparam, delete, func, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store.tables import replicas

LEASE_MS = 6_000
"""How long a gateway counts as alive after its last heartbeat, which comes every 2 s."""

_expires = func.sayso_now() + bindparam("p_ttl", type_=replicas.c.expires_ms.type)
_BEAT = (
    insert(replicas)
    .values(id=bindparam("p_id"), expires_ms=_expires)
    .on_conflict_do_update(index_elements=[replicas.c.id], set_={"expires_ms": _expires})
)
_LEAVE = delete(replicas).where(replicas.c.id == bindparam("p_id"))
_ALIVE = select(replicas.c.id).where(replicas.c.expires_ms > func.sayso_now())


def heartbeat(conn: Connection, owner: str, ttl_ms: int) -> None:
    """Say that ``owner`` lives for ``ttl_ms`` more; beat before the first run and at a third of it.

    When the beat ends, another replica's ``runs.recover`` calls this owner's runs unknown.
    """
    conn.execute(_BEAT, {"p_id": owner, "p_ttl": ttl_ms})


def leave(conn: Connection, owner: str) -> None:
    """Forget a replica that stops in order and has no runs left."""
    conn.execute(_LEAVE, {"p_id": owner})


def alive(conn: Connection) -> tuple[str, ...]:
    """Return the owners whose heartbeat has not ended."""
    return tuple(conn.execute(_ALIVE).scalars())
