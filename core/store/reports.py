"""Record what became of claimed work: sent, to be retried, or given up."""

from sqlalchemy import Connection, RowMapping, bindparam, case, or_, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store import surfaces
from core.store.claims import IS_POINTLESS, IS_SENDING, given_up
from core.store.clock import now_ms
from core.store.codec import plain
from core.store.notes import OUTBOX, note
from core.store.states import OutboxKind, OutboxState
from core.store.tables import IS_OPEN_ITEM, approvals, outbox

_APPROVAL_OF = select(outbox.c.approval_id, outbox.c.kind, outbox.c.prompt_id).where(
    outbox.c.id == bindparam("p_id")
)
_LOCK_APPROVAL = (
    select(approvals.c.state).where(approvals.c.id == bindparam("p_id")).with_for_update()
)
_SENT = (
    update(outbox)
    .where(
        outbox.c.id == bindparam("p_id"),
        or_(outbox.c.message.is_(None), outbox.c.kind != OutboxKind.PROMPT.value),
    )
    .values(
        state=OutboxState.SENT.value,
        message=case(
            (outbox.c.kind == OutboxKind.EDIT.value, outbox.c.message),
            else_=bindparam("p_message"),
        ),
    )
)
_ORIGINAL = select(outbox).where(outbox.c.id == bindparam("p_id"))
_RETRY = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"), IS_SENDING)
    .values(
        state=case(
            (IS_POINTLESS, OutboxState.DROPPED.value),
            else_=given_up(bindparam("p_uncertain") == 1),
        ),
        due_ms=bindparam("p_due", type_=outbox.c.due_ms.type),
        uncertain=case((bindparam("p_uncertain") == 1, 1), else_=outbox.c.uncertain),
    )
)
_DROP = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"), IS_OPEN_ITEM)
    .values(state=OutboxState.DROPPED.value, why=bindparam("p_why"))
)
_KEEP_COPY = insert(outbox).on_conflict_do_nothing()


def sent(conn: Connection, item_id: int, message: str) -> bool:
    """Note that the platform accepted an item; ``message`` is its id there.

    A prompt whose approval has ended meanwhile gets its edit in the same transaction. A second
    report with another message is a second copy, and is kept as such. ``False``: no such item.
    """
    item = _locked(conn, item_id)
    if item is None:
        return False
    first = conn.execute(_SENT, {"p_id": item_id, "p_message": message}).rowcount
    if item["kind"] == OutboxKind.EDIT.value:
        surfaces.close(conn, item["prompt_id"])
    elif item["kind"] == OutboxKind.PROMPT.value:
        if not first:
            _keep_copy(conn, item_id, message)
        if not _is_pending(conn, item["approval_id"]):
            surfaces.settle(conn, [item["approval_id"]], now_ms(conn))
    return True


def retry(conn: Connection, item_id: int, delay_ms: int, uncertain: bool) -> None:  # noqa: FBT001 - the outbox's fixed signature
    """Give a claim back, due again after ``delay_ms``; ``uncertain``: it may have arrived.

    An uncertain notice or reminder is not repeated; a question already answered is dropped.
    """
    if _locked(conn, item_id) is None:
        return
    due = now_ms(conn) + delay_ms
    conn.execute(_RETRY, {"p_id": item_id, "p_due": due, "p_uncertain": int(uncertain)})
    note(conn, OUTBOX)


def drop(conn: Connection, item_id: int, why: str) -> None:
    """Give an item up for good; ``why`` is one sentence for the operator."""
    item = _locked(conn, item_id)
    if item is None:
        return
    conn.execute(_DROP, {"p_id": item_id, "p_why": plain(why)})
    if item["kind"] == OutboxKind.EDIT.value:
        surfaces.close(conn, item["prompt_id"])


def _locked(conn: Connection, item_id: int) -> RowMapping | None:
    """Return the item with its approval locked, so that no decision slips in between."""
    item = conn.execute(_APPROVAL_OF, {"p_id": item_id}).mappings().first()
    if item is not None and item["approval_id"] is not None:
        conn.execute(_LOCK_APPROVAL, {"p_id": item["approval_id"]})
    return item


def _is_pending(conn: Connection, approval_id: str) -> bool:
    return conn.execute(_LOCK_APPROVAL, {"p_id": approval_id}).scalar() == "pending"


def _keep_copy(conn: Connection, item_id: int, message: str) -> None:
    row = dict(conn.execute(_ORIGINAL, {"p_id": item_id}).mappings().one())
    if row["message"] == message:
        return
    del row["id"]
    row |= {"state": OutboxState.SENT.value, "message": message}
    conn.execute(_KEEP_COPY, row | {"idem_key": f"copy:{item_id}:{message}"})
