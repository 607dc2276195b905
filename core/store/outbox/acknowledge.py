"""Record what became of claimed work: sent, to be retried, or given up."""

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, Text, bindparam, case, or_, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import Target
from core.store.engine.clock import now_ms
from core.store.engine.notifications import OUTBOX, note
from core.store.outbox import delivery_clock, messages
from core.store.outbox.claims import IS_POINTLESS, IS_SENDING, given_up
from core.store.outbox.showings import record_copy
from core.store.schema.json_columns import dump, load, plain
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import IS_OPEN_ITEM, approvals, outbox

_ITEM = select(
    outbox.c.approval_id,
    outbox.c.kind,
    outbox.c.prompt_id,
    outbox.c.step,
    outbox.c.created_ms,
    outbox.c.target,
).where(outbox.c.id == bindparam("p_id"))
_LOCK_APPROVAL = (
    select(approvals.c.state).where(approvals.c.id == bindparam("p_id")).with_for_update()
)
_LOCK_OF_ITEMS = (
    select(approvals.c.id)
    .where(
        approvals.c.id.in_(
            select(outbox.c.approval_id).where(outbox.c.id.in_(bindparam("p_ids", expanding=True)))
        )
    )
    .order_by(approvals.c.id)  # two groups with the same members never wait for each other
    .with_for_update()
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
_RELOCATE = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"), IS_SENDING, outbox.c.kind == OutboxKind.PROMPT.value)
    .values(channel=bindparam("p_channel", type_=Text), target=bindparam("p_target", type_=Text))
)


def sent(conn: Connection, item_id: int, message: str, text: str = "") -> bool:
    """Note that the platform accepted an item; ``message`` is its id there, ``text`` what was sent.

    The first prompt of an approval that is accepted starts the time to answer. A prompt whose
    approval has ended meanwhile gets its edit in the same transaction. A second report with
    another message is a second copy, and is kept as such. ``False``: no such item.
    """
    item = _locked(conn, item_id)
    if item is None:
        return False
    first = conn.execute(_SENT, {"p_id": item_id, "p_message": message}).rowcount
    if item["kind"] == OutboxKind.EDIT.value:
        messages.close(conn, item["prompt_id"])
    elif item["kind"] == OutboxKind.PROMPT.value:
        if not first:
            _keep_copy(conn, item_id, message)
        now = now_ms(conn)
        waiting = _is_pending(conn, item["approval_id"])
        place = load(Target, item["target"])
        record_copy(conn, item["approval_id"], place, message, text, now, waiting=waiting)
        if waiting:
            delivery_clock.confirm(conn, item["approval_id"], now)
        else:
            messages.settle(conn, [item["approval_id"]], now)
    elif item["kind"] == OutboxKind.REMINDER.value and not _is_pending(conn, item["approval_id"]):
        messages.settle(conn, [item["approval_id"]], now_ms(conn))
    return True


def sent_group(conn: Connection, item_ids: Sequence[int], message: str, text: str = "") -> int:
    """Note that one message shows all of these items; return how many of them are known.

    Each is reported as by ``sent``, all in one transaction. ``copies.members`` lists them again.
    """
    conn.execute(_LOCK_OF_ITEMS, {"p_ids": list(item_ids)}).all()
    return sum(sent(conn, item_id, message, text) for item_id in item_ids)


def relocate(conn: Connection, item_id: int, target: Target) -> bool:
    """Move a claimed prompt to another place, such as the thread that was opened for its session.

    ``False``: the item is not a prompt, or its claim has ended.
    """
    values = {"p_id": item_id, "p_channel": target.channel, "p_target": dump(target)}
    return conn.execute(_RELOCATE, values).rowcount == 1


def retry(conn: Connection, item_id: int, delay_ms: int, uncertain: bool) -> None:  # noqa: FBT001 - the outbox's fixed signature
    """Give a claim back, due again after ``delay_ms``; ``uncertain``: it may have arrived.

    An uncertain notice or reminder is not repeated; a question already answered is dropped. A
    prompt that nobody sees after ``delivery.PATIENCE_MS`` lets the next step take over.
    """
    item = _locked(conn, item_id)
    if item is None:
        return
    now = now_ms(conn)
    values = {"p_id": item_id, "p_due": now + delay_ms, "p_uncertain": int(uncertain)}
    conn.execute(_RETRY, values)
    note(conn, OUTBOX)
    is_prompt = item["kind"] == OutboxKind.PROMPT.value
    if is_prompt and now - item["created_ms"] >= delivery_clock.PATIENCE_MS:
        delivery_clock.escalate(conn, item["approval_id"], item["step"])


def drop(conn: Connection, item_id: int, why: str) -> None:
    """Give up an item for good; ``why`` is one sentence for the operator.

    Where it was a prompt and no copy is shown yet, the next step is asked at once; where nothing is
    left that could reach anybody, the approval is due at once and ends as undelivered.
    """
    item = _locked(conn, item_id)
    if item is None or not conn.execute(_DROP, {"p_id": item_id, "p_why": plain(why)}).rowcount:
        return
    if item["kind"] == OutboxKind.EDIT.value:
        messages.close(conn, item["prompt_id"])
    elif item["kind"] == OutboxKind.PROMPT.value:
        delivery_clock.escalate(conn, item["approval_id"], item["step"])


def _locked(conn: Connection, item_id: int) -> RowMapping | None:
    """Return the item with its approval locked, so that no decision slips in between."""
    item = conn.execute(_ITEM, {"p_id": item_id}).mappings().first()
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
