"""Know each shown copy of a prompt, also one whose sending was never confirmed."""

from sqlalchemy import Connection, bindparam, exists, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import ApprovalId, Target
from core.store import surfaces
from core.store.clock import now_ms
from core.store.codec import load
from core.store.drafts import PromptDraft
from core.store.queue import item_row
from core.store.states import OutboxKind, OutboxState
from core.store.tables import IS_PENDING, approvals, outbox

_BY_MESSAGE = select(outbox.c.approval_id, outbox.c.target).where(
    outbox.c.channel == bindparam("p_channel"),
    outbox.c.message == bindparam("p_message"),
    outbox.c.approval_id.is_not(None),
)
_INSERT = insert(outbox).on_conflict_do_nothing()
_PENDING = select(exists().where(approvals.c.id == bindparam("p_id"), IS_PENDING))


def approval_of(conn: Connection, place: Target, message: str) -> ApprovalId | None:
    """Return the approval whose prompt is this message of this chat, ``None`` if it is no prompt.

    Message ids are unique in a chat only, so the chat must be the same; threads do not matter.
    """
    rows = conn.execute(_BY_MESSAGE, {"p_channel": place.channel, "p_message": message})
    for row in rows:
        if load(Target, row.target).to == place.to:
            return ApprovalId(row.approval_id)
    return None


def adopt(conn: Connection, approval_id: ApprovalId, place: Target, message: str) -> bool:
    """Take up a copy that nobody recorded; ``False`` if it was known.

    A gateway that dies between a platform's yes and its own commit leaves such a copy. The first
    press on it tells where it is, and its final edit is enqueued like any other's.
    """
    if approval_of(conn, place, message) is not None:
        return False
    now = now_ms(conn)
    key = f"adopted:{place.channel}:{place.to}:{message}"
    row = item_row(OutboxKind.PROMPT, approval_id, PromptDraft(place, "{}"), key, now)
    conn.execute(_INSERT, row | {"state": OutboxState.SENT.value, "message": message})
    if not conn.execute(_PENDING, {"p_id": approval_id}).scalar():
        surfaces.settle(conn, [approval_id], now)
    return True
