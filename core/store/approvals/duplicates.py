"""Queue identical questions behind the one that is asked, without sharing an allow-once.

::

    leader ◀── behind ── follower, follower …       one prompt on the screens, asked "3 times"

    leader denied by a person, expired, allowed always  ─▶  its followers end the same way
    leader allowed once, cancelled                      ─▶  the next follower is asked again

Identical means: the same bound plan (so agent and session too), asked with the same account, judged
the same way, needing as many people. Otherwise an answer could store what nobody was shown. The
kernel session may be another, since many agents start each call in a new one; but whoever asked any
of them answers none (``askers``), and where somebody has already voted only the very same requester
joins: otherwise the new requester could be one of those who allowed it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import (
    Connection,
    Integer,
    RowMapping,
    Text,
    bindparam,
    exists,
    func,
    select,
    update,
)

from core.model.approval import ApprovalState
from core.model.identity import ApprovalId, Requester
from core.store.engine.notifications import DEADLINE, note, note_approval
from core.store.outbox.delivery_clock import Clock, clock_of
from core.store.outbox.enqueue import enqueue_prompts
from core.store.schema.json_columns import dump, load
from core.store.schema.people_tables import votes
from core.store.schema.records import ApprovalDraft, PromptDraft
from core.store.schema.tables import HAS_LEADER, IS_PENDING, approvals, decisions, questions

_MS = approvals.c.deadline_ms.type
_LEADER = (
    select(
        approvals.c.id,
        approvals.c.deadline_ms,
        approvals.c.delivered_ms,
        approvals.c.timeout_ms,
        questions.c.requester,
    )
    .join(questions, questions.c.id == approvals.c.id)
    .where(
        IS_PENDING,
        approvals.c.digest == bindparam("p_digest"),
        approvals.c.behind.is_(None),
        approvals.c.deadline_ms > bindparam("p_now", type_=_MS),
        approvals.c.quorum == bindparam("p_quorum"),
        func.substr(questions.c.requester, 1, bindparam("p_length", type_=Integer))
        == bindparam("p_account"),
        questions.c.evaluation == bindparam("p_evaluation"),
        questions.c.step_up == bindparam("p_step_up"),
    )
    .order_by(approvals.c.created_ms, approvals.c.id)
    .with_for_update(of=approvals)  # it must not end before its new follower is visible
)
_HAS_VOTES = select(
    exists().where(
        votes.c.approval_id.in_(
            select(approvals.c.id)
            .where(approvals.c.id == bindparam("p_id"))
            .union(
                select(approvals.c.id).where(
                    IS_PENDING, HAS_LEADER, approvals.c.behind == bindparam("p_id")
                )
            )
        )
    )
)
_BEHIND = (
    select(
        approvals.c.id,
        approvals.c.behind,
        approvals.c.session,
        approvals.c.place,
    )
    .where(
        IS_PENDING,
        HAS_LEADER,
        approvals.c.behind.in_(bindparam("p_ids", type_=Text, expanding=True)),
    )
    .order_by(approvals.c.created_ms, approvals.c.id)
    .with_for_update()
)
_END = (
    update(approvals)
    .where(IS_PENDING, approvals.c.id.in_(bindparam("p_ids", type_=Text, expanding=True)))
    .values(state=bindparam("p_state"))
)
_ASKED = (
    select(approvals.c.timeout_ms, questions.c.reminders, questions.c.ladder)
    .join(questions, questions.c.id == approvals.c.id)
    .where(approvals.c.id == bindparam("p_id"))
)
_ASK = (
    update(approvals)
    .where(IS_PENDING, approvals.c.id == bindparam("p_id"))
    .values(
        behind=None,
        deadline_ms=bindparam("p_deadline", type_=_MS),
        delivered_ms=bindparam("p_delivered", type_=_MS),
        remind_at_ms=bindparam("p_remind", type_=_MS),
    )
)
_REJOIN = (
    update(approvals)
    .where(IS_PENDING, approvals.c.id.in_(bindparam("p_ids", type_=Text, expanding=True)))
    .values(
        behind=bindparam("p_leader", type_=approvals.c.behind.type),
        deadline_ms=bindparam("p_deadline", type_=_MS),
        delivered_ms=bindparam("p_delivered", type_=_MS),
    )
)
_leading, _own = decisions.alias("leading"), decisions.alias("own")
_ENDED_WITH = (
    select(approvals.c.id)
    .join(_leading, _leading.c.approval_id == approvals.c.behind)
    .join(_own, _own.c.approval_id == approvals.c.id)
    .where(
        HAS_LEADER,
        approvals.c.behind == bindparam("p_id"),
        _own.c.at_ms == _leading.c.at_ms,
        _own.c.state == _leading.c.state,
    )
    .order_by(approvals.c.created_ms, approvals.c.id)
)


@dataclass(frozen=True, slots=True)
class Leader:
    """The question that an identical one waits behind, and the clock that they share."""

    id: ApprovalId
    clock: Clock


def leader_of(conn: Connection, draft: ApprovalDraft, now: int) -> Leader | None:
    """Return the pending question that is identical to a draft, locked; ``None``: ask it."""
    asker, account = dump(draft.requester), _account(draft.requester)
    alike = {
        "p_now": now,
        "p_digest": draft.plan.digest,
        "p_quorum": draft.quorum,
        "p_account": account,
        "p_length": len(account),
        "p_evaluation": dump(draft.evaluation),
        "p_step_up": int(draft.step_up),
    }
    for row in conn.execute(_LEADER, alike).all():
        # Looked up after the lock, by a statement of its own: a vote may have come meanwhile.
        if row.requester == asker or not conn.execute(_HAS_VOTES, {"p_id": row.id}).scalar():
            clock = _waiting(row.deadline_ms, row.delivered_ms, row.timeout_ms)
            return Leader(ApprovalId(row.id), clock)
    return None


def _account(requester: Requester) -> str:
    """Return how every requester with this account is stored, up to its kernel session."""
    return dump(replace(requester, process=None)).removesuffix("null}")


def ended_with(conn: Connection, approval_id: ApprovalId) -> tuple[ApprovalId, ...]:
    """Return the identical questions that ended by the same decision as this one."""
    return tuple(map(ApprovalId, conn.execute(_ENDED_WITH, {"p_id": approval_id}).scalars()))


def waiting_behind(conn: Connection, ids: Sequence[str]) -> Sequence[RowMapping]:
    """Return the pending followers of these approvals, locked, the oldest first."""
    return conn.execute(_BEHIND, {"p_ids": ids}).mappings().all()


def end(conn: Connection, rows: Sequence[RowMapping], state: ApprovalState) -> None:
    """Write the end that followers share with their leader; the caller concludes it."""
    conn.execute(_END, {"p_ids": [row["id"] for row in rows], "p_state": state.value})


def promote(conn: Connection, rows: Sequence[RowMapping], now: int) -> None:
    """Ask the first of these followers again; the others wait behind it."""
    first, rest = rows[0]["id"], [row["id"] for row in rows[1:]]
    asked = conn.execute(_ASKED, {"p_id": first}).one()
    prompts = load(tuple[PromptDraft, ...], asked.ladder)
    reminders = json.loads(asked.reminders)
    clock = clock_of(now, asked.timeout_ms, reminders, prompted=bool(prompts))
    conn.execute(_ASK, _values(clock) | {"p_id": first, "p_remind": clock.remind_at_ms})
    if rest:
        follow = _waiting(clock.deadline_ms, clock.delivered_ms, asked.timeout_ms)
        conn.execute(_REJOIN, _values(follow) | {"p_ids": rest, "p_leader": first})
    enqueue_prompts(conn, ApprovalId(first), prompts, now)
    for row in rows:
        note_approval(conn, row["id"])
    note(conn, DEADLINE)


def _waiting(deadline_ms: int, delivered_ms: int | None, timeout_ms: int) -> Clock:
    """Return a follower's clock: as far as its leader's can still move, and never reminded."""
    last = deadline_ms if delivered_ms is not None else deadline_ms + timeout_ms
    return Clock(last, delivered_ms, None)


def _values(clock: Clock) -> dict[str, object]:
    return {"p_deadline": clock.deadline_ms, "p_delivered": clock.delivered_ms}
