"""Remember the answer to each message, so that a redelivery gets the same answer."""

from enum import IntEnum

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import ApprovalId
from core.store.engine.clock import now_ms
from core.store.schema.tables import inbound

_REMEMBER = (
    insert(inbound)
    .values(
        inbound_key=bindparam("p_key"),
        approval_id=bindparam("p_id"),
        won=bindparam("p_won"),
        at_ms=bindparam("p_now"),
    )
    .on_conflict_do_nothing()
    .returning(inbound.c.won)
)
_BEFORE = select(inbound.c.won).where(
    inbound.c.inbound_key == bindparam("p_key"), inbound.c.approval_id == bindparam("p_id")
)


class Recorded(IntEnum):
    """What ``inbound.won`` holds."""

    LOST = 0
    WON = 1
    COUNTED = 2


def remember(
    conn: Connection, key: str | None, approval_id: ApprovalId, recorded: Recorded
) -> Recorded | None:
    """Record the answer to message ``key``; return the one recorded before, if there is one.

    ``key`` is ``None`` where a message cannot come twice.
    """
    if key is None:
        return None
    row = {"p_key": key, "p_id": approval_id, "p_won": recorded.value, "p_now": now_ms(conn)}
    if conn.execute(_REMEMBER, row).first() is not None:
        return None
    return before(conn, key, approval_id)


def before(conn: Connection, key: str | None, approval_id: ApprovalId) -> Recorded | None:
    """Return the recorded answer to message ``key``, ``None`` if there is none."""
    if key is None:
        return None
    recorded = conn.execute(_BEFORE, {"p_key": key, "p_id": approval_id}).scalar()
    return None if recorded is None else Recorded(recorded)
