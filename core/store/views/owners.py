"""Return whose a run or an approval is, and which sessions exist."""

from dataclasses import dataclass

from sqlalchemy import Connection, Integer, bindparam, func, select

from core.model.identity import AgentId, ApprovalId, SessionKey
from core.store.schema.tables import approvals, runs, session_events, sessions

_AGENT = select(
    func.coalesce(
        select(approvals.c.agent).where(approvals.c.id == bindparam("p_id")).scalar_subquery(),
        select(runs.c.agent).where(runs.c.id == bindparam("p_id")).scalar_subquery(),
    )
)
_SESSIONS = (
    select(sessions, session_events.c.at_ms)
    .outerjoin(
        session_events,
        (session_events.c.session == sessions.c.session)
        & (session_events.c.seq == sessions.c.last_seq),
    )
    # Not LIKE, which ignores case on SQLite.
    .where(
        func.substr(sessions.c.session, 1, bindparam("p_length", type_=Integer))
        == bindparam("p_head"),
        sessions.c.session > bindparam("p_after"),
    )
    .order_by(sessions.c.session)
    .limit(bindparam("p_limit"))
)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session: the number of its last event, the last acknowledged one, when it was (epoch ms).

    ``at_ms`` is ``None`` where the last event is forgotten already.
    """

    session: SessionKey
    last_seq: int
    acked_seq: int
    at_ms: int | None


def agent_of(conn: Connection, run_id: ApprovalId) -> AgentId | None:
    """Return the agent that asked; ``None`` if no run and no approval has this id."""
    found = conn.execute(_AGENT, {"p_id": run_id}).scalar()
    return None if found is None else AgentId(found)


def sessions_of(
    conn: Connection, limit: int, head: str = "", after: str = ""
) -> tuple[SessionRow, ...]:
    """Return at most ``limit`` sessions whose key begins with ``head``, in the keys' order.

    ``after`` is the last key that was seen.
    """
    values = {"p_head": head, "p_length": len(head), "p_after": after, "p_limit": limit}
    return tuple(
        SessionRow(SessionKey(row.session), row.last_seq, row.acked_seq, row.at_ms)
        for row in conn.execute(_SESSIONS, values)
    )
