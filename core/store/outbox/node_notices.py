"""Find the notices of nodes that ask to be paired, and enqueue the end of each (decision 29).

Such a notice is not a question in the approvals' tables: it is found by its key, ``node:CODE:…``,
and its end is an edit of it, once.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, and_, bindparam, exists, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.store.engine.clock import now_ms
from core.store.engine.notifications import OUTBOX, note
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import outbox

OF_NOTICE = '{"of": "notice"'
"""The start of the payload of an edit that takes the place of a notice."""
_FROM, _TO = "notice:node:", "notice:node;"
_KEPT_MS = 24 * 3_600_000
_LIVE = (OutboxState.READY.value, OutboxState.SENDING.value, OutboxState.SENT.value)
_edit = outbox.alias("edit")
_ENDED = exists().where(_edit.c.idem_key == "edit:" + outbox.c.idem_key)
_SHOWN = (
    select(outbox.c.id, outbox.c.payload, outbox.c.state, outbox.c.created_ms)
    .where(
        outbox.c.idem_key >= _FROM,
        outbox.c.idem_key < _TO,
        outbox.c.created_ms > bindparam("p_since"),
    )
    .where(outbox.c.state.in_(_LIVE), ~_ENDED)
    .order_by(outbox.c.id)
)
_COUNT = select(outbox.c.payload).where(
    outbox.c.idem_key >= _FROM, outbox.c.idem_key < _TO, outbox.c.created_ms > bindparam("p_since")
)
_ORIGINAL = select(outbox).where(outbox.c.id == bindparam("p_id"))
_DROP = (
    update(outbox)
    .where(and_(outbox.c.id == bindparam("p_id"), outbox.c.state == OutboxState.READY.value))
    .values(state=OutboxState.DROPPED.value, why="answered before it was sent")
)
_INSERT = insert(outbox).on_conflict_do_nothing()


@dataclass(frozen=True, slots=True)
class NodeNotice:
    """A notice that says that a node waits; ``payload`` is the JSON that it was made from."""

    id: int
    payload: str


def unended(conn: Connection) -> tuple[NodeNotice, ...]:
    """Return the notices of the last day that are shown or to be sent, and have no end yet."""
    rows = conn.execute(_SHOWN, {"p_since": now_ms(conn) - _KEPT_MS})
    return tuple(NodeNotice(row.id, row.payload) for row in rows)


def recent(conn: Connection, within_ms: int) -> tuple[str, ...]:
    """Return the payloads of recent notices, whatever became of them."""
    return tuple(conn.execute(_COUNT, {"p_since": now_ms(conn) - within_ms}).scalars())


def end(conn: Connection, notice_id: int, payload: str) -> None:
    """Enqueue, once, the edit that takes a notice's place; drop one that was not sent yet.

    One that is being sent is left to the next call.

    ``payload`` begins with ``OF_NOTICE``.
    """
    if conn.execute(_DROP, {"p_id": notice_id}).rowcount:
        return
    row = conn.execute(_ORIGINAL, {"p_id": notice_id}).mappings().first()
    if row is None or row["state"] != OutboxState.SENT.value:
        return
    now = now_ms(conn)
    made = {
        "channel": row["channel"],
        "target": row["target"],
        "step": row["step"],
        "kind": OutboxKind.EDIT.value,
        "payload": payload,
        "state": OutboxState.READY.value,
        "attempts": 0,
        "due_ms": now,
        "uncertain": 0,
        "idem_key": f"edit:{row['idem_key']}",
        "message": row["message"],
        "created_ms": now,
    }
    if conn.execute(_INSERT, made).rowcount:
        note(conn, OUTBOX)
