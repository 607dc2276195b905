"""End approvals: everything that belongs to a decision happens in its transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Text, bindparam, insert, literal, select

from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text
from core.model.identity import Actor
from core.store import events, surfaces
from core.store.codec import plain
from core.store.notes import DEADLINE, note, note_approval, note_run
from core.store.states import DecisionSource, RowState
from core.store.tables import approvals, decisions, runs

_INSERT_DECISIONS = insert(decisions)
_INSERT_TIMEOUTS = insert(decisions).from_select(
    ["approval_id", "state", "source", "reason", "note", "at_ms", "owed"],
    select(
        approvals.c.id,
        literal(ApprovalState.EXPIRED.value),
        literal(DecisionSource.TIMEOUT.value),
        literal(DenialReason.APPROVAL_TIMEOUT.value),
        literal(""),
        bindparam("p_now", type_=decisions.c.at_ms.type),
        literal(0),
    ).where(approvals.c.id.in_(bindparam("p_ids", type_=Text, expanding=True))),
)
_QUEUE_RUNS = insert(runs).from_select(
    ["id", "asked", "state", "agent", "session", "place", "text", "noted", "created_ms"],
    select(
        approvals.c.id,
        literal(1),
        literal(RowState.QUEUED.value),
        approvals.c.agent,
        approvals.c.session,
        approvals.c.place,
        approvals.c.text,
        literal(0),
        approvals.c.created_ms,
    ).where(approvals.c.id == bindparam("p_id")),
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How one approval ends: the state that its guarded statement wrote, and why."""

    id: str
    session: str
    place: str
    state: ApprovalState
    source: DecisionSource
    at_ms: int
    reply: ApprovalReply | None = None
    reason: DenialReason | None = None
    by: Actor | None = None
    note: str = ""


def conclude(conn: Connection, endings: Sequence[Ending]) -> None:
    """Record decisions, queue allowed runs, tell the sessions, mend every shown prompt.

    Call it only for rows that this transaction's guarded statement has just ended.
    """
    if not endings:
        return
    now = max(ending.at_ms for ending in endings)
    _record(conn, endings, now)
    for ending in endings:
        note_approval(conn, ending.id)
        if ending.state is ApprovalState.ALLOWED:
            conn.execute(_QUEUE_RUNS, {"p_id": ending.id})
            note_run(conn, ending.id)
    events.append(conn, [_denied(end) for end in endings if end.reason is not None], now)
    surfaces.settle(conn, [ending.id for ending in endings], now)
    note(conn, DEADLINE)


def _record(conn: Connection, endings: Sequence[Ending], now: int) -> None:
    if all(ending.source is DecisionSource.TIMEOUT for ending in endings):
        # Ten thousand may be due at once: copying constants in SQL spares half of the time.
        conn.execute(_INSERT_TIMEOUTS, {"p_ids": [end.id for end in endings], "p_now": now})
        return
    conn.execute(_INSERT_DECISIONS, [_decision(ending) for ending in endings])


def _decision(ending: Ending) -> dict[str, object]:
    by = ending.by
    allowed = ending.state is ApprovalState.ALLOWED
    return {
        "approval_id": ending.id,
        "state": ending.state.value,
        "source": ending.source.value,
        "reply": ending.reply.value if ending.reply else None,
        "reason": ending.reason.value if ending.reason else None,
        "channel": by.channel if by else None,
        "account": by.account if by else None,
        "name": plain(by.name) if by else None,
        "note": plain(ending.note),
        "at_ms": ending.at_ms,
        "owed": int(allowed and ending.reply is ApprovalReply.ALLOW_ALWAYS),
    }


def _denied(ending: Ending) -> events.NewEvent:
    reason = ending.reason.value if ending.reason else ""
    words = f"{reason}: {ending.note}" if ending.note else reason
    text = denied_text(ending.place, ending.id, words)
    return events.NewEvent(ending.session, EventKind.DENIED, text, ending.id)
