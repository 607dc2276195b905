"""Find each shown copy of a prompt, even one whose sending was never confirmed."""

from sqlalchemy import Connection, bindparam, or_, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import ApprovalId, Target
from core.store.engine.clock import now_ms
from core.store.outbox import delivery_clock, messages
from core.store.outbox.enqueue import item_row
from core.store.schema.json_columns import load
from core.store.schema.records import PromptDraft
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import IS_PENDING, approvals, outbox

_BY_MESSAGE = (
    select(outbox.c.approval_id, outbox.c.target, outbox.c.kind)
    .where(
        outbox.c.channel == bindparam("p_channel"),
        outbox.c.message == bindparam("p_message"),
        outbox.c.approval_id.is_not(None),
    )
    .order_by(outbox.c.id)
)
_INSERT = insert(outbox).on_conflict_do_nothing()
_LOCK_PENDING = (
    select(approvals.c.id).where(approvals.c.id == bindparam("p_id"), IS_PENDING).with_for_update()
)
_ASKED_ELSEWHERE = (
    select(outbox.c.id)
    .where(
        outbox.c.approval_id == bindparam("p_id"),
        outbox.c.kind == OutboxKind.PROMPT.value,
        outbox.c.channel != bindparam("p_channel"),
        outbox.c.state != OutboxState.DROPPED.value,
    )
    .limit(1)
)
_SHOWN = (OutboxState.SENT.value, OutboxState.STALE.value, OutboxState.CLOSED.value)
_ASKED_AT = (
    select(outbox.c.target)
    .where(
        outbox.c.approval_id == bindparam("p_id"),
        outbox.c.kind == OutboxKind.PROMPT.value,
        or_(outbox.c.step == 0, outbox.c.state.in_(_SHOWN)),
    )
    .order_by(outbox.c.id)
)


def approval_of(conn: Connection, place: Target, message: str) -> ApprovalId | None:
    """Return the approval whose prompt is this message of this chat, ``None`` if it is not one.

    Message ids are unique in a chat only, so the chat must be the same; threads do not matter.
    Also ``None`` where the message shows several (``members`` says which): words that answer
    such a message name no question.
    """
    found = _about(conn, place, message)
    return found[0] if len(found) == 1 else None


def members(conn: Connection, place: Target, message: str) -> tuple[ApprovalId, ...]:
    """Return the approvals that one message shows, each once, in the order of their prompts.

    More than one is a group; empty means that the message is not a prompt.
    """
    return _about(conn, place, message, only=OutboxKind.PROMPT)


def asked_at(conn: Connection, approval_id: ApprovalId) -> tuple[Target, ...]:
    """Return the places where an approval's people were asked, each once."""
    rows = conn.execute(_ASKED_AT, {"p_id": approval_id}).scalars()
    return tuple(dict.fromkeys(load(Target, row) for row in rows))


def is_asked_elsewhere(conn: Connection, approval_id: ApprovalId, channel: str) -> bool:
    """Return whether a prompt went to a channel other than this one, or still will."""
    named = {"p_id": approval_id, "p_channel": channel}
    return conn.execute(_ASKED_ELSEWHERE, named).first() is not None


def adopt(conn: Connection, approval_id: ApprovalId, place: Target, message: str) -> bool:
    """Take up a copy that nobody recorded; ``False`` if it was known.

    A gateway that dies between a platform's yes and its own commit leaves such a copy. The first
    press on it shows where it is, and its final edit is enqueued like any other's. Of a message
    that shows several approvals, each is taken up on its own.
    """
    if approval_id in members(conn, place, message):
        return False
    # Locked first, so that no decision slips in between and misses this copy.
    pending = conn.execute(_LOCK_PENDING, {"p_id": approval_id}).first() is not None
    now = now_ms(conn)
    key = f"adopted:{approval_id}:{place.channel}:{place.to}:{message}"
    row = item_row(OutboxKind.PROMPT, approval_id, PromptDraft(place, "{}"), key, now)
    conn.execute(_INSERT, row | {"state": OutboxState.SENT.value, "message": message})
    if pending:
        delivery_clock.confirm(conn, approval_id, now)
    else:
        messages.settle(conn, [approval_id], now)
    return True


def _about(
    conn: Connection, place: Target, message: str, only: OutboxKind | None = None
) -> tuple[ApprovalId, ...]:
    rows = conn.execute(_BY_MESSAGE, {"p_channel": place.channel, "p_message": message})
    here = (
        ApprovalId(row.approval_id)
        for row in rows
        if load(Target, row.target).to == place.to and only in {None, row.kind}
    )
    return tuple(dict.fromkeys(here))
