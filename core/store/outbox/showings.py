"""Record what people were shown of a question: copies in chats, and who looked at it where.

A copy is recorded by the statement that notes that it was sent, what a person looked at by the one
that takes their answer or soon after they looked. Each is recorded once.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, Text, bindparam, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.evidence import Showing, Surface, View, text_hash
from core.model.identity import ApprovalId, Target
from core.store.engine.clock import now_ms
from core.store.schema.json_columns import plain
from core.store.schema.people_tables import showings, shown_texts
from core.store.schema.tables import IS_PENDING, approvals

_ADD = insert(showings).on_conflict_do_nothing()
_ADD_TEXT = insert(shown_texts).on_conflict_do_nothing()
_WAITING = (
    select(approvals.c.id)
    .where(approvals.c.id.in_(bindparam("p_ids", type_=Text, expanding=True)), IS_PENDING)
    .order_by(approvals.c.id)
    .with_for_update()
)
_OF = (
    select(showings)
    .where(showings.c.approval_id == bindparam("p_id"))
    .order_by(showings.c.at_ms, showings.c.key)
)
_TEXTS = select(shown_texts.c.hash, shown_texts.c.text).where(
    shown_texts.c.approval_id == bindparam("p_id")
)


def record_copy(
    conn: Connection,
    approval_id: str,
    target: Target,
    message: str,
    text: str,
    now: int,
    *,
    waiting: bool,
) -> None:
    """Record a copy of a prompt that a platform accepted; ``text`` is what was sent."""
    row = {
        "approval_id": approval_id,
        "key": f"{Surface.MESSAGE}:{target.channel}:{target.to}:{message}",
        "surface": Surface.MESSAGE.value,
        "channel": target.channel,
        "place": place_of(target),
        "message": message,
        "account": "",
        "name": "",
        "at_ms": now,
        "waiting": int(waiting),
    }
    _record(conn, row, text)


def record_views(conn: Connection, views: Iterable[View]) -> None:
    """Record what people look at, where the question still waits; later it decides nothing."""
    wanted = list(views)
    if not wanted:
        return
    ids = sorted({one.approval_id for one in wanted})
    waiting = set(conn.execute(_WAITING, {"p_ids": ids}).scalars())
    now = now_ms(conn)
    for one in wanted:
        if one.approval_id in waiting:
            _record(conn, _row(one, now), one.text)


def of_approval(conn: Connection, approval_id: ApprovalId) -> tuple[Showing, ...]:
    """Return all that was shown of a question, the earliest first."""
    return tuple(
        Showing(
            row["key"],
            Surface(row["surface"]),
            row["channel"],
            row["place"],
            row["message"],
            row["account"],
            row["name"],
            row["hash"],
            row["at_ms"],
            bool(row["waiting"]),
        )
        for row in conn.execute(_OF, {"p_id": approval_id}).mappings()
    )


def texts_of(conn: Connection, approval_id: ApprovalId) -> dict[str, str]:
    """Return what was shown, by its hash."""
    return {row.hash: row.text for row in conn.execute(_TEXTS, {"p_id": approval_id})}


def place_of(target: Target) -> str:
    """Return a place in a chat in one word, with its thread."""
    return f"{target.to}/{target.thread}" if target.thread else target.to


def _row(view: View, now: int) -> dict[str, object]:
    return {
        "approval_id": view.approval_id,
        "key": plain(view.key),
        "surface": view.surface.value,
        "channel": view.actor.channel,
        "place": plain(view.place),
        "message": plain(view.message),
        "account": plain(view.actor.account),
        "name": plain(view.actor.name),
        "at_ms": now,
        "waiting": 1,
    }


def _record(conn: Connection, row: dict[str, object], text: str) -> None:
    kept = plain(text)
    found = text_hash(kept) if kept else ""
    added = conn.execute(_ADD, row | {"hash": found}).rowcount
    if added and found:
        text_row = {"approval_id": row["approval_id"], "hash": found, "text": kept}
        conn.execute(_ADD_TEXT, text_row)
