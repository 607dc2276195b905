"""End approvals: everything that belongs to a decision happens in its transaction.

That includes the identical questions that wait behind the one that ends: they end the same way, or
the next of them is asked (``followers``).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, RowMapping, Text, bindparam, case, insert, literal, select

from core.model.approval import ApprovalReply, ApprovalState, GrantTerms
from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text
from core.model.identity import Actor
from core.store.approvals import duplicates
from core.store.engine.context import context_of
from core.store.engine.notifications import DEADLINE, note, note_approval, note_run
from core.store.outbox import messages
from core.store.schema.json_columns import dump, plain
from core.store.schema.records import OutboxItem
from core.store.schema.states import DecisionSource, RowState
from core.store.schema.tables import approvals, decisions, runs
from core.store.sessions import events

_INSERT_DECISIONS = insert(decisions)
_INSERT_TIMEOUTS = (
    insert(decisions)
    .from_select(
        ["approval_id", "state", "source", "reason", "note", "at_ms", "owed", "journal"],
        select(
            approvals.c.id,
            literal(ApprovalState.EXPIRED.value),
            literal(DecisionSource.TIMEOUT.value),
            case(
                (approvals.c.delivered_ms.is_(None), literal(DenialReason.UNDELIVERED.value)),
                else_=literal(DenialReason.APPROVAL_TIMEOUT.value),
            ),
            literal(""),
            bindparam("p_now", type_=decisions.c.at_ms.type),
            literal(0),
            bindparam("p_journal", type_=decisions.c.journal.type),
        ).where(approvals.c.id.in_(bindparam("p_ids", type_=Text, expanding=True))),
    )
    .returning(decisions.c.approval_id, decisions.c.reason)
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
    """How one approval ends: the state that its guarded statement wrote, and why.

    ``shared``: it ends by the decision on the identical question that it waited behind.
    """

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
    terms: GrantTerms | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Concluded:
    """The ids of all that ended, with those that shared an end last, and the claimed edits."""

    ids: tuple[str, ...] = ()
    edits: tuple[OutboxItem, ...] = ()


def conclude(
    conn: Connection, endings: Sequence[Ending], channels: Collection[str] = ()
) -> Concluded:
    """Record decisions, queue allowed runs, notify the sessions, edit every shown prompt.

    Call it only for rows that this transaction's guarded statement has just ended. The caller sends
    the edits for ``channels`` itself.
    """
    if not endings:
        return Concluded()
    now = max(ending.at_ms for ending in endings)
    # Before any session's row is locked: whoever answers a follower also locks in that order.
    endings = [*endings, *_share(conn, endings, now)]
    endings = _record(conn, endings, now)
    for ending in endings:
        note_approval(conn, ending.id)
        if ending.state is ApprovalState.ALLOWED:
            conn.execute(_QUEUE_RUNS, {"p_id": ending.id})
            note_run(conn, ending.id)
    events.append(conn, [_denied(end) for end in endings if end.reason is not None], now)
    ids = tuple(ending.id for ending in endings)
    edits = messages.settle(conn, ids, now, channels)
    note(conn, DEADLINE)
    return Concluded(ids, edits)


def _share(conn: Connection, endings: Sequence[Ending], now: int) -> list[Ending]:
    """End the followers that share a decision, and let the next of the others be asked."""
    leaders = {ending.id: ending for ending in endings}
    waiting: dict[str, list[RowMapping]] = {}
    for row in duplicates.waiting_behind(conn, list(leaders)):
        waiting.setdefault(row["behind"], []).append(row)
    shared: list[Ending] = []
    for leader_id, rows in waiting.items():
        leader = leaders[leader_id]
        if not _is_for_all(leader):
            duplicates.promote(conn, rows, now)
            continue
        duplicates.end(conn, rows, leader.state)
        shared += [_shared(leader, row) for row in rows]
    return shared


def _shared(leader: Ending, row: RowMapping) -> Ending:
    own = {"id": row["id"], "session": row["session"], "place": row["place"]}
    return replace(leader, **own, shared=True)


def _is_for_all(ending: Ending) -> bool:
    """Return whether a decision holds for every identical question; an allow-once never does."""
    match ending.state:
        case ApprovalState.ALLOWED:
            counted = ending.terms is not None and ending.terms.uses is not None
            return ending.reply is ApprovalReply.ALLOW_ALWAYS and not counted
        case ApprovalState.DENIED | ApprovalState.EXPIRED:
            return True
        case _:
            return False


def _record(conn: Connection, endings: list[Ending], now: int) -> list[Ending]:
    """Write the decisions; return the endings with the reason that the row gave them."""
    late = [ending.id for ending in endings if ending.source is DecisionSource.TIMEOUT]
    journal = {"journal": context_of(conn).journal}
    rest = [end for end in endings if end.source is not DecisionSource.TIMEOUT]
    others = [_decision(ending) | journal for ending in rest]
    if others:
        conn.execute(_INSERT_DECISIONS, others)
    if not late:
        return endings
    # Ten thousand may be due at once: copying constants in SQL saves half the time.
    rows = conn.execute(
        _INSERT_TIMEOUTS, {"p_ids": late, "p_now": now, "p_journal": journal["journal"]}
    ).all()
    undelivered = {row[0] for row in rows if row[1] == DenialReason.UNDELIVERED.value}
    if not undelivered:
        return endings
    reason = DenialReason.UNDELIVERED
    return [replace(end, reason=reason) if end.id in undelivered else end for end in endings]


def _decision(ending: Ending) -> dict[str, object]:
    by = ending.by
    for_good = ending.reply is ApprovalReply.ALLOW_ALWAYS and ending.terms is None
    return {
        "approval_id": ending.id,
        "state": ending.state.value,
        "source": ending.source.value,
        "reply": ending.reply.value if ending.reply else None,
        "terms": dump(ending.terms) if ending.terms else None,
        "reason": ending.reason.value if ending.reason else None,
        "channel": by.channel if by else None,
        "account": by.account if by else None,
        "name": plain(by.name) if by else None,
        "note": plain(ending.note),
        "at_ms": ending.at_ms,
        "owed": int(for_good and ending.state is ApprovalState.ALLOWED and not ending.shared),
    }


def _denied(ending: Ending) -> events.NewEvent:
    reason = str(ending.reason or "")
    words = f"{reason}: {ending.note}" if ending.note else reason
    text = denied_text(ending.place, ending.id, words)
    return events.NewEvent(ending.session, EventKind.DENIED, text, ending.id)
