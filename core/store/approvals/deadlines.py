"""Process deadlines: expire, remind, and return when to wake up next."""

import json

from sqlalchemy import Connection, RowMapping, Text, bindparam, func, select, update

from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.store.approvals.conclude import Ending, conclude
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.outbox import messages
from core.store.schema.records import Expired
from core.store.schema.states import DecisionSource
from core.store.schema.tables import IS_PENDING, approvals, decisions, questions

_EXPIRED, _LATE = ApprovalState.EXPIRED, DenialReason.APPROVAL_TIMEOUT
_NOW = bindparam("p_now", type_=approvals.c.deadline_ms.type)
_due = (
    select(approvals.c.id)
    .where(IS_PENDING, approvals.c.deadline_ms <= _NOW)
    .order_by(approvals.c.deadline_ms)
    .limit(bindparam("p_limit"))
    .with_for_update(skip_locked=True)  # PostgreSQL: another replica's batch is left to it
    .cte("due")  # never a bare subquery: a planner may run that again, and lock beyond the limit
)
_EXPIRE = (
    update(approvals)
    .where(approvals.c.id.in_(select(_due.c.id)), IS_PENDING)
    .values(state=_EXPIRED.value)
    .returning(approvals.c.id, approvals.c.session, approvals.c.place)
)
_IDS = bindparam("p_ids", type_=Text, expanding=True)
_REASONS = select(
    decisions.c.approval_id, decisions.c.reason, decisions.c.at_ms, decisions.c.journal
).where(decisions.c.approval_id.in_(_IDS))
_HOLD = (
    select(approvals.c.id)
    .where(approvals.c.id.in_(_IDS), IS_PENDING)
    .order_by(approvals.c.id)
    .with_for_update()
)
_to_remind = (
    select(approvals.c.id)
    .where(IS_PENDING, approvals.c.remind_at_ms <= _NOW)
    .order_by(approvals.c.remind_at_ms)
    .limit(bindparam("p_limit"))
    .with_for_update(skip_locked=True)
    .cte("to_remind")
)
_REMINDED = (
    select(
        approvals.c.id,
        approvals.c.timeout_ms,
        approvals.c.deadline_ms,
        questions.c.reminders,
    )
    .join(questions, questions.c.id == approvals.c.id)
    .where(approvals.c.id.in_(select(_to_remind.c.id)))
)
_REMIND_NEXT = (
    update(approvals)
    .where(approvals.c.id == bindparam("p_id"), IS_PENDING)
    .values(remind_at_ms=bindparam("p_next"))
)
_NEXT_DEADLINE = select(func.min(approvals.c.deadline_ms)).where(IS_PENDING)
_NEXT_REMINDER = select(func.min(approvals.c.remind_at_ms)).where(IS_PENDING)


def expire_due(conn: Connection, limit: int = 500) -> tuple[ApprovalId, ...]:
    """End at most ``limit`` approvals whose deadline has come; return the ids of all that ended.

    Those that wait behind them end too. As many as ``limit`` means that more may be due: call
    again.
    """
    now = now_ms(conn)
    rows = conn.execute(_EXPIRE, {"p_now": now, "p_limit": limit}).all()
    late = [
        Ending(ended, session, place, _EXPIRED, DecisionSource.TIMEOUT, now, reason=_LATE)
        for ended, session, place in rows
    ]
    return tuple(ApprovalId(one) for one in conclude(conn, late).ids)


def expire_and_notify(conn: Connection, limit: int = 500) -> Expired:
    """End what is due, as ``expire_due``; return why nothing ran for all that ended."""
    ended = expire_due(conn, limit)
    rows = conn.execute(_REASONS, {"p_ids": list(ended)}).all() if ended else ()
    reasons = {ApprovalId(row.approval_id): DenialReason(row.reason) for row in rows}
    return Expired(max((row.at_ms for row in rows), default=0), reasons)


def expired_by(conn: Connection, doubted: Expired) -> Expired:
    """Return what of a transaction in doubt was committed, once it is not under way any more."""
    ids = {"p_ids": list(doubted.reasons)}
    conn.execute(_HOLD, ids)
    ends = conn.execute(_REASONS, ids).all()
    own = (doubted.at_ms, context_of(conn).journal)
    stored = {row.approval_id for row in ends if (row.at_ms, row.journal) == own}
    reasons = {one: why for one, why in doubted.reasons.items() if one in stored}
    return Expired(doubted.at_ms, reasons)


def remind_due(conn: Connection, limit: int = 500) -> int:
    """Enqueue a reminder for each shown copy of the approvals whose reminder is due.

    Returns how many approvals were due; as many as ``limit`` means: call again.
    """
    now = now_ms(conn)
    rows = conn.execute(_REMINDED, {"p_now": now, "p_limit": limit}).mappings().all()
    if rows:
        conn.execute(_REMIND_NEXT, [{"p_id": row["id"], "p_next": _next(row, now)} for row in rows])
    alive = [row["id"] for row in rows if row["deadline_ms"] > now]
    if alive:
        messages.remind(conn, alive, now)
    return len(rows)


def _next(row: RowMapping, now: int) -> int | None:
    """Return when to remind next; reminders that were missed are not made up for."""
    began = row["deadline_ms"] - row["timeout_ms"]
    left = (began + after for after in json.loads(row["reminders"]) if began + after > now)
    return next(left, None)


def next_wake(conn: Connection) -> int | None:
    """Return the earliest deadline or reminder of a pending approval (epoch ms)."""
    deadline: int | None = conn.execute(_NEXT_DEADLINE).scalar()
    reminder: int | None = conn.execute(_NEXT_REMINDER).scalar()
    if deadline is None or reminder is None:
        return deadline
    return min(deadline, reminder)


def wake_in(conn: Connection) -> int | None:
    """Return in how many ms ``next_wake`` comes, on the store's clock: the caller's may jump."""
    at_ms = next_wake(conn)
    return None if at_ms is None else max(0, at_ms - now_ms(conn))
