"""Keep how far a channel has read; a holder that lost its lease cannot move it.

Store a batch of updates first, commit, and only then advance: a crash between repeats them, and
repeated messages are answered alike.
"""

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store.schema.tables import cursors, leases

_GET = select(cursors.c.value).where(cursors.c.name == bindparam("p_name"))
_new = insert(cursors).values(
    name=bindparam("p_name"), value=bindparam("p_value"), token=bindparam("p_token")
)
_SET = _new.on_conflict_do_update(
    index_elements=[cursors.c.name],
    set_={"value": _new.excluded.value, "token": _new.excluded.token},
    where=cursors.c.token <= _new.excluded.token,
).returning(cursors.c.name)
_OVERTAKEN = select(leases.c.token).where(
    leases.c.name == bindparam("p_name"), leases.c.token > bindparam("p_token")
)


def get(conn: Connection, name: str) -> str | None:
    """Return the stored position, ``None`` if there is none."""
    found: str | None = conn.execute(_GET, {"p_name": name}).scalar()
    return found


def set(conn: Connection, name: str, value: str, token: int = 0) -> bool:  # noqa: A001 - read as cursors.set
    """Store a position; ``token`` is that of the lease of the same name, 0 without a lease.

    ``False``: a younger holder exists, and nothing was stored.
    """
    if conn.execute(_OVERTAKEN, {"p_name": name, "p_token": token}).first() is not None:
        return False
    row = {"p_name": name, "p_value": value, "p_token": token}
    return conn.execute(_SET, row).first() is not None
