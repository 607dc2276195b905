"""Decide approvals: one guarded statement on the database's clock; expiry is part of it."""

from sqlalchemy import Connection, RowMapping, bindparam, case, func, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.decision import DenialReason
from core.model.identity import Actor, ApprovalId
from core.store.clock import now_ms
from core.store.context import require_space
from core.store.drafts import Answer
from core.store.ending import Ending, conclude
from core.store.lookup import get
from core.store.states import DecisionSource
from core.store.tables import IS_PENDING, approvals, decisions, inbound

_END = (
    update(approvals)
    .where(approvals.c.id == bindparam("p_id"), IS_PENDING)
    .values(
        state=case(
            (approvals.c.deadline_ms > func.sayso_now(), bindparam("p_wanted")),
            else_=ApprovalState.EXPIRED.value,
        )
    )
    .returning(
        approvals.c.id,
        approvals.c.state,
        approvals.c.session,
        approvals.c.place,
        func.sayso_now().label("now"),
    )
)
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
_WON_BEFORE = select(inbound.c.won).where(
    inbound.c.inbound_key == bindparam("p_key"), inbound.c.approval_id == bindparam("p_id")
)
_PAY = update(decisions).where(decisions.c.approval_id == bindparam("p_id")).values(owed=0)
_STATE_OF = {
    ApprovalReply.ALLOW_ONCE: ApprovalState.ALLOWED,
    ApprovalReply.ALLOW_ALWAYS: ApprovalState.ALLOWED,
    ApprovalReply.DENY: ApprovalState.DENIED,
}


def answer(
    conn: Connection,
    approval_id: ApprovalId,
    reply: ApprovalReply,
    actor: Actor,
    inbound_key: str | None,
    note: str = "",
) -> Answer | None:
    """Decide an approval, once; ``None`` if there is none with this id.

    ``inbound_key`` names the message that carried the reply (platform and update id): the same
    message again gets the same answer, which also settles a commit that was in doubt.

    Raises:
        StoreFull: the disk is full and the reply would let something run; a denial is recorded.
    """
    if reply is not ApprovalReply.DENY:
        require_space(conn)
    wanted = _STATE_OF[reply]
    row = _end(conn, approval_id, wanted)
    won = row is not None and row["state"] == wanted.value
    if row is not None:
        conclude(conn, [_by_person(row, reply, actor, note) if won else timed_out(row)])
    approval = get(conn, approval_id)
    if approval is None:
        return None
    repeated = inbound_key is not None and not _first(conn, inbound_key, approval_id, won=won)
    if repeated:
        won = bool(conn.execute(_WON_BEFORE, {"p_key": inbound_key, "p_id": approval_id}).scalar())
    return Answer(won, repeated, approval)


def cancel(
    conn: Connection,
    approval_id: ApprovalId,
    note: str,
    reason: DenialReason = DenialReason.CANCELLED,
) -> Approval | None:
    """End a pending approval because nobody needs its answer; return its true state.

    ``reason`` is ``CANCELLED``, or ``UNDELIVERED`` where no copy of the prompt could be sent.
    ``None`` if there is no approval with this id.
    """
    row = _end(conn, approval_id, ApprovalState.CANCELLED)
    if row is not None:
        if row["state"] == ApprovalState.CANCELLED.value:
            ending = _ending(row, ApprovalState.CANCELLED, DecisionSource.CANCEL, reason, note)
        else:
            ending = timed_out(row)
        conclude(conn, [ending])
    return get(conn, approval_id)


def mark_remembered(conn: Connection, approval_id: ApprovalId) -> None:
    """Note that the patterns of an allow-always are in the approvals file now."""
    conn.execute(_PAY, {"p_id": approval_id})


def timed_out(row: RowMapping) -> Ending:
    """Describe the end of a row that a guarded statement has just written ``expired``."""
    return _ending(
        row, ApprovalState.EXPIRED, DecisionSource.TIMEOUT, DenialReason.APPROVAL_TIMEOUT, ""
    )


def _end(conn: Connection, approval_id: str, wanted: ApprovalState) -> RowMapping | None:
    found = conn.execute(_END, {"p_id": approval_id, "p_wanted": wanted.value})
    return found.mappings().first()


def _by_person(row: RowMapping, reply: ApprovalReply, actor: Actor, note: str) -> Ending:
    return Ending(
        id=row["id"],
        session=row["session"],
        place=row["place"],
        state=_STATE_OF[reply],
        source=DecisionSource.PERSON,
        at_ms=row["now"],
        reply=reply,
        reason=DenialReason.APPROVER_DENIED if reply is ApprovalReply.DENY else None,
        by=actor,
        note=note,
    )


def _ending(
    row: RowMapping, state: ApprovalState, source: DecisionSource, reason: DenialReason, note: str
) -> Ending:
    return Ending(
        id=row["id"],
        session=row["session"],
        place=row["place"],
        state=state,
        source=source,
        at_ms=row["now"],
        reason=reason,
        note=note,
    )


def _first(conn: Connection, inbound_key: str, approval_id: str, *, won: bool) -> bool:
    row = {"p_key": inbound_key, "p_id": approval_id, "p_won": int(won), "p_now": now_ms(conn)}
    return conn.execute(_REMEMBER, row).first() is not None
