"""Number what each session receives, without a gap, and redeliver it until acknowledged.

The number comes from the session's own row in the same transaction, so the order is the order of
commits. A bare serial number would lose events on PostgreSQL: numbers are drawn at the insert and
become visible at the commit, in another order.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, bindparam, case, func, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.events import EventKind, SessionEvent
from core.model.identity import ApprovalId, SessionKey
from core.store.engine.clock import now_ms
from core.store.engine.notifications import note_session
from core.store.schema.json_columns import plain
from core.store.schema.tables import session_events, sessions

_new_session = insert(sessions).values(
    session=bindparam("p_session"), last_seq=bindparam("p_count"), acked_seq=0
)
_RESERVE = _new_session.on_conflict_do_update(
    index_elements=[sessions.c.session],
    set_={"last_seq": sessions.c.last_seq + _new_session.excluded.last_seq},
).returning(sessions.c.last_seq)
_INSERT = insert(session_events)
_DRAIN = (
    select(session_events)
    .join(sessions, sessions.c.session == session_events.c.session)
    .where(
        session_events.c.session == bindparam("p_session"),
        session_events.c.seq > sessions.c.acked_seq,
        session_events.c.seq > bindparam("p_after"),
    )
    .order_by(session_events.c.seq)
    .limit(bindparam("p_limit"))
)
_ACK = (
    update(sessions)
    .where(sessions.c.session == bindparam("p_session"), sessions.c.acked_seq < bindparam("p_seq"))
    .values(
        acked_seq=case(
            (sessions.c.last_seq < bindparam("p_seq"), sessions.c.last_seq),
            else_=bindparam("p_seq"),
        )
    )
)
_ACKED = select(func.coalesce(func.max(sessions.c.acked_seq), 0)).where(
    sessions.c.session == bindparam("p_session")
)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A line for a session that has no number yet."""

    session: str
    kind: EventKind
    text: str
    run_id: str


def append(conn: Connection, new: Sequence[NewEvent], now: int) -> None:
    """Number and store events; those of one session keep their order. ``now`` is epoch ms."""
    # Sorted, so that two transactions never wait for each other's session rows (deadlock).
    counts = Counter(event.session for event in new)
    free: dict[str, int] = {}
    for session in sorted(counts):
        reserve = {"p_session": session, "p_count": counts[session]}
        free[session] = conn.execute(_RESERVE, reserve).scalar_one() - counts[session] + 1
        note_session(conn, session)
    rows = []
    for event in new:
        rows.append(
            {
                "session": event.session,
                "seq": free[event.session],
                "kind": str(event.kind),  # ten thousand may come at once, and ``value`` is slow
                "text": plain(event.text),
                "run_id": event.run_id,
                "at_ms": now,
            }
        )
        free[event.session] += 1
    if rows:
        conn.execute(_INSERT, rows)


def append_one(conn: Connection, event: NewEvent) -> None:
    """Number and store one event, in a transaction of its own."""
    append(conn, [event], now_ms(conn))


def drain(
    conn: Connection, session: SessionKey, limit: int = 100, after: int = 0
) -> tuple[SessionEvent, ...]:
    """Return the session's events above its acknowledged number and above ``after``, in order."""
    found = conn.execute(_DRAIN, {"p_session": session, "p_after": after, "p_limit": limit})
    return tuple(_event(row) for row in found.mappings())


def ack(conn: Connection, session: SessionKey, seq: int) -> int:
    """Acknowledge all events up to ``seq``; return the number now acknowledged.

    A lower number than before changes nothing; a number beyond the last event counts as the last,
    so that an event to come is never acknowledged before it was delivered.
    """
    conn.execute(_ACK, {"p_session": session, "p_seq": seq})
    return int(conn.execute(_ACKED, {"p_session": session}).scalar_one())


def _event(row: RowMapping) -> SessionEvent:
    return SessionEvent(
        session=SessionKey(row["session"]),
        seq=row["seq"],
        kind=EventKind(row["kind"]),
        text=row["text"],
        run_id=ApprovalId(row["run_id"]),
        at_ms=row["at_ms"],
    )
