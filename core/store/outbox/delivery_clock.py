"""Follow the delivery of prompts: start the clock, escalate early, give up on nobody.

::

    created ──▶ first copy confirmed ──▶ deadline          the time to answer: timeout_ms
       │               ▲
       └─ timeout_ms ──┴─▶ nobody was reached: undelivered  (so 2 x timeout_ms at most)

Callers hold the approval's row lock, so each of these steps happens once, with any replicas.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Integer, and_, bindparam, exists, func, select, update

from core.store.engine.clock import now_ms
from core.store.engine.notifications import DEADLINE, OUTBOX, note
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import IS_OPEN_ITEM, IS_PENDING, approvals, outbox, questions

PATIENCE_MS = 30_000
"""How long sending may fail, with no copy shown, before the next step takes over."""

_NOW = bindparam("p_now", type_=approvals.c.deadline_ms.type)
_ID = bindparam("p_id", type_=approvals.c.id.type)
_IS_UNSHOWN = and_(approvals.c.id == _ID, IS_PENDING, approvals.c.delivered_ms.is_(None))
_UNSHOWN = (
    select(approvals.c.timeout_ms, questions.c.reminders, questions.c.local)
    .join(questions, questions.c.id == approvals.c.id)
    .where(_IS_UNSHOWN, approvals.c.deadline_ms > _NOW)
)
_START = (
    update(approvals)
    .where(_IS_UNSHOWN)
    .values(
        delivered_ms=_NOW,
        deadline_ms=_NOW + approvals.c.timeout_ms,
        remind_at_ms=bindparam("p_remind", type_=approvals.c.remind_at_ms.type),
    )
)
_START_FOLLOWERS = (
    update(approvals)
    .where(IS_PENDING, approvals.c.behind == _ID)
    .values(
        delivered_ms=_NOW, deadline_ms=bindparam("p_deadline", type_=approvals.c.deadline_ms.type)
    )
)
_is_prompt = and_(
    IS_OPEN_ITEM, outbox.c.approval_id == _ID, outbox.c.kind == OutboxKind.PROMPT.value
)
_is_waiting = and_(
    _is_prompt,
    outbox.c.state == OutboxState.READY.value,
    outbox.c.attempts == 0,
    outbox.c.due_ms > _NOW,
)
_MOVE_LATER = (
    update(outbox).where(_is_waiting).values(due_ms=outbox.c.due_ms + _NOW - outbox.c.created_ms)
)
_later = outbox.alias("later")
_next_step = (
    select(func.min(_later.c.step))
    .where(
        _later.c.approval_id == _ID,
        _later.c.kind == OutboxKind.PROMPT.value,
        _later.c.step > bindparam("p_step", type_=Integer),
    )
    .scalar_subquery()
)
_ASK_NEXT = update(outbox).where(_is_waiting, outbox.c.step == _next_step).values(due_ms=_NOW)
_HAS_PROMPTS = select(exists().where(_is_prompt))
_GIVE_UP = update(approvals).where(_IS_UNSHOWN).values(deadline_ms=_NOW)


@dataclass(frozen=True, slots=True)
class Clock:
    """A question's times, in epoch ms; nobody is reminded of what nobody has seen."""

    deadline_ms: int
    delivered_ms: int | None
    remind_at_ms: int | None


def clock_of(now: int, timeout_ms: int, reminders: Sequence[int], *, prompted: bool) -> Clock:
    """Return the clock of a question that is asked now.

    Without a prompt there is nothing to wait for: the time to answer starts at once.
    """
    if prompted:
        return Clock(now + timeout_ms, None, None)
    return Clock(now + timeout_ms, now, now + reminders[0] if reminders else None)


def confirm(conn: Connection, approval_id: str, now: int) -> None:
    """Note that a copy is shown; the first one starts the time to answer, once.

    Reminders and the later steps of the ladder move along. A copy that came after the limit for a
    delivery changes nothing: the question is over.
    """
    found = conn.execute(_UNSHOWN, {"p_id": approval_id, "p_now": now}).first()
    if found is None:
        return
    reminders = json.loads(found.reminders)
    remind = now + reminders[0] if reminders else None
    conn.execute(_START, {"p_id": approval_id, "p_now": now, "p_remind": remind})
    moved = {"p_id": approval_id, "p_now": now}
    conn.execute(_START_FOLLOWERS, moved | {"p_deadline": now + found.timeout_ms})
    conn.execute(_MOVE_LATER, moved)
    note(conn, DEADLINE)


def escalate(conn: Connection, approval_id: str, step: int) -> None:
    """Ask the step after ``step`` at once if no copy is shown yet.

    Where no prompt is left that could still arrive and nobody else may answer, the question is due
    at once; the sweep ends it as undelivered.
    """
    now = now_ms(conn)
    found = conn.execute(_UNSHOWN, {"p_id": approval_id, "p_now": now}).first()
    if found is None:
        return
    where = {"p_id": approval_id, "p_now": now}
    if conn.execute(_ASK_NEXT, where | {"p_step": step}).rowcount:
        note(conn, OUTBOX)
    elif not found.local and not conn.execute(_HAS_PROMPTS, where).scalar():
        conn.execute(_GIVE_UP, where)
        note(conn, DEADLINE)
