"""Record questions: an approval, its prompts in the outbox, its request key; all or nothing."""

import json

from sqlalchemy import Connection, bindparam, delete
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import StoreError
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.identity import CODE_LENGTH, ApprovalId
from core.model.pending_limits import PendingLimits
from core.store.approvals.conclude import Ending, conclude
from core.store.approvals.duplicates import Leader, leader_of
from core.store.approvals.idempotency import by_request_key, claim_key
from core.store.approvals.limits import input_bytes, require_room
from core.store.approvals.queries import existing, get
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of, require_space
from core.store.engine.notifications import DEADLINE, note, note_approval
from core.store.outbox.delivery_clock import Clock, clock_of
from core.store.outbox.enqueue import enqueue_prompts
from core.store.schema.json_columns import dump, plain
from core.store.schema.records import ApprovalDraft, CodeTaken, Created
from core.store.schema.states import DecisionSource
from core.store.schema.tables import approvals, questions

_INSERT = insert(approvals).on_conflict_do_nothing().returning(approvals.c.id)
_ASK = insert(questions)
_NEVER_ASKED = {
    "state": ApprovalState.CANCELLED.value, "agent": "", "session": "", "place": "", "text": "",
    "created_ms": 0, "deadline_ms": 0, "timeout_ms": 0, "quorum": 1, "digest": "",
}  # fmt: skip
_FORGET = delete(approvals).where(approvals.c.id == bindparam("p_id"))


def place_of(plan: ExecPlan) -> str:
    """Return the word that events show: the node's id, or the host."""
    return plan.node or plan.host.value


def create(conn: Connection, draft: ApprovalDraft, limits: PendingLimits | None = None) -> Created:
    """Record a question and enqueue its prompts.

    A request key that is known returns its approval, and nothing is recorded. A question that is
    identical to a pending one waits ``behind`` it, and nothing is sent for it (``followers``).
    ``limits`` bound what waits; ``None`` does not.

    Raises:
        CodeTaken: another approval has this code; draw a new id.
        TooMany: it would be over a limit.
        Conflict: the request key belongs to another request.
        StoreError: the request key belongs to a run that needed no approval.
        StoreFull: the disk is full; nothing can be asked.
    """
    require_space(conn)
    known = _known(conn, draft)
    if known is not None:
        return Created(known, fresh=False)
    if limits is not None:
        require_room(conn, draft, limits)
    now = now_ms(conn)
    leader = leader_of(conn, draft, now)
    _insert(conn, draft, now, ApprovalState.PENDING, leader)
    if leader is None:
        enqueue_prompts(conn, draft.id, draft.prompts, now)
    note_approval(conn, draft.id)
    note(conn, DEADLINE)
    return Created(existing(conn, draft.id), fresh=True)


def settle_unrouted(
    conn: Connection,
    draft: ApprovalDraft,
    state: ApprovalState,
    reply: ApprovalReply | None,
    words: str,
) -> Created:
    """Record a question that nobody could be asked, already ended by the ask fallback.

    ``state`` is ``ALLOWED`` (the run is queued) or ``DENIED`` (``no_route``); ``words`` says why.

    Raises:
        CodeTaken, StoreError, StoreFull: as ``create``.
    """
    require_space(conn)
    known = _known(conn, draft)
    if known is not None:
        return Created(known, fresh=False)
    now = now_ms(conn)
    _insert(conn, draft, now, state)
    ending = Ending(
        id=draft.id,
        session=draft.plan.session,
        place=place_of(draft.plan),
        state=state,
        source=DecisionSource.FALLBACK,
        at_ms=now,
        reply=reply,
        reason=None if state is ApprovalState.ALLOWED else DenialReason.NO_ROUTE,
        note=words,
    )
    conclude(conn, [ending])
    return Created(existing(conn, draft.id), fresh=True)


def is_asked(conn: Connection, approval_id: ApprovalId) -> bool:
    """Return whether a question is stored, once it is not being committed any more."""
    # Inserting the same id waits for a COMMIT that is still under way: whoever only looked could
    # find it no sooner than nobody looks any more.
    row = {"id": approval_id, "code": approval_id, **_NEVER_ASKED}
    if conn.execute(_INSERT, row).first() is None:
        return True
    conn.execute(_FORGET, {"p_id": approval_id})
    return False


def _known(conn: Connection, draft: ApprovalDraft) -> Approval | None:
    if claim_key(conn, draft.request_key, draft.id, draft.request_digest):
        return None
    earlier = by_request_key(conn, draft.request_key or "", draft.request_digest)
    known = None if earlier is None else get(conn, earlier)
    if known is None:
        raise StoreError(
            f"Request key {draft.request_key!r} belongs to run {earlier}, which needed no "
            "approval. Use a new key for a new request."
        )
    return known


def _insert(
    conn: Connection,
    draft: ApprovalDraft,
    now: int,
    state: ApprovalState,
    leader: Leader | None = None,
) -> None:
    plan = draft.plan
    clock = leader.clock if leader else _clock(draft, now)
    row = {
        "id": draft.id,
        "code": draft.id[:CODE_LENGTH],
        "state": state.value,
        "agent": plan.agent,
        "session": plan.session,
        "place": place_of(plan),
        "text": plain(plan.text),
        "created_ms": now,
        "deadline_ms": clock.deadline_ms,
        "timeout_ms": draft.timeout_ms,
        "delivered_ms": clock.delivered_ms,
        "remind_at_ms": clock.remind_at_ms if state is ApprovalState.PENDING else None,
        "quorum": draft.quorum,
        "digest": plan.digest,
        "behind": leader.id if leader else None,
        "input_bytes": input_bytes(draft),
        "task": plan.task,
        "journal": context_of(conn).journal,
    }
    if conn.execute(_INSERT, row).first() is None:
        raise CodeTaken(f"The code {row['code']} is taken. Create a new id.")
    conn.execute(_ASK, _question(draft, leader))


def _question(draft: ApprovalDraft, leader: Leader | None) -> dict[str, object]:
    return {
        "id": draft.id,
        "plan": dump(draft.plan),
        "evaluation": dump(draft.evaluation),
        "requester": dump(draft.requester),
        "origin": dump(draft.origin) if draft.origin else None,
        "reminders": json.dumps(draft.reminders),
        "local": int(draft.local),
        "ladder": dump(draft.prompts) if leader else None,
        "step_up": int(draft.step_up),
    }


def _clock(draft: ApprovalDraft, now: int) -> Clock:
    return clock_of(now, draft.timeout_ms, draft.reminders, prompted=bool(draft.prompts))
