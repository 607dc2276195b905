"""Let one process at a time do a thing; a fencing token refuses the one that froze and woke.

An advisory lock is never given back by a frozen holder; a row with an end is. A lease is a
courtesy between pollers, never what keeps a decision single: that is the guarded statement.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, or_, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store.engine.clock import now_ms
from core.store.schema.tables import leases

_EXPIRES = bindparam("p_expires", type_=leases.c.expires_ms.type)


@dataclass(frozen=True, slots=True)
class Lease:
    """A held lease; ``token`` grows with every new holding and goes with every guarded write."""

    name: str
    holder: str
    token: int


_ACQUIRE = (
    insert(leases)
    .values(name=bindparam("p_name"), holder=bindparam("p_holder"), token=1, expires_ms=_EXPIRES)
    .on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"holder": bindparam("p_holder"), "token": leases.c.token + 1, "expires_ms": _EXPIRES},
        where=or_(
            leases.c.expires_ms <= bindparam("p_now"), leases.c.holder == bindparam("p_holder")
        ),
    )
    .returning(leases.c.token)
)
_IS_MINE = (
    leases.c.name == bindparam("p_name"),
    leases.c.holder == bindparam("p_holder"),
    leases.c.token == bindparam("p_token"),
)
_RENEW = update(leases).where(*_IS_MINE).values(expires_ms=_EXPIRES).returning(leases.c.token)
_RELEASE = update(leases).where(*_IS_MINE).values(expires_ms=0)


def acquire(conn: Connection, name: str, holder: str, ttl_ms: int) -> Lease | None:
    """Take a lease that is free, ended or already ours, for ``ttl_ms``; ``None``: held."""
    now = now_ms(conn)
    row = {"p_name": name, "p_holder": holder, "p_now": now, "p_expires": now + ttl_ms}
    token = conn.execute(_ACQUIRE, row).scalar()
    return None if token is None else Lease(name, holder, int(token))


def renew(conn: Connection, lease: Lease, ttl_ms: int) -> bool:
    """Extend a lease to ``ttl_ms`` from now; ``False``: another holder has taken it."""
    values = _mine(lease) | {"p_expires": now_ms(conn) + ttl_ms}
    return conn.execute(_RENEW, values).first() is not None


def release(conn: Connection, lease: Lease) -> None:
    """Give a lease back at once; its token stays used."""
    conn.execute(_RELEASE, _mine(lease))


def _mine(lease: Lease) -> dict[str, object]:
    return {"p_name": lease.name, "p_holder": lease.holder, "p_token": lease.token}
