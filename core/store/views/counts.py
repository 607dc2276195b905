"""Count what waits, for gauges."""

from sqlalchemy import Connection, func, select

from core.store.schema.tables import IS_PENDING, approvals

_PENDING = select(func.count()).select_from(approvals).where(IS_PENDING)


def pending(conn: Connection) -> int:
    """Return how many approvals wait for an answer."""
    return int(conn.execute(_PENDING).scalar_one())
