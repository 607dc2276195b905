"""Remember what the sender of each message was told, so that a redelivery is told the same."""

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


class Told(IntEnum):
    """What ``inbound.won`` holds."""

    LOST = 0
    WON = 1
    COUNTED = 2


def remember(conn: Connection, key: str | None, approval_id: ApprovalId, told: Told) -> Told | None:
    """Note what the sender of message ``key`` is told; return what it was told before, if it was.

    ``key`` is ``None`` where a message cannot come twice.
    """
    if key is None:
        return None
    row = {"p_key": key, "p_id": approval_id, "p_won": told.value, "p_now": now_ms(conn)}
    if conn.execute(_REMEMBER, row).first() is not None:
        return None
    return before(conn, key, approval_id)


def before(conn: Connection, key: str | None, approval_id: ApprovalId) -> Told | None:
    """Return what the sender of message ``key`` was told about an approval, ``None`` if nothing."""
    if key is None:
        return None
    told = conn.execute(_BEFORE, {"p_key": key, "p_id": approval_id}).scalar()
    return None if told is None else Told(told)
