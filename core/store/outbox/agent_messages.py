"""Keep what each message of an agent's thread should show, until its platform shows it.

An item's payload is what its message should show; it may change while the item is being sent, so
``confirm`` compares it with what was. The first showing of a message is an item of the kind
``AGENT``, and all later ones are one edit of it, whose payload changes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import Target
from core.store.engine.clock import now_ms
from core.store.engine.notifications import OUTBOX, note
from core.store.outbox.enqueue import item_row
from core.store.schema.json_columns import load
from core.store.schema.people_tables import agent_threads
from core.store.schema.records import PromptDraft
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import outbox

OF_AGENT = '{"of": "agent"'
"""The start of the payload of an edit that shows more of what an agent says."""
_OPEN = (OutboxState.READY.value, OutboxState.SENDING.value)
_EDIT = "edit:"

_THREAD = select(agent_threads).where(agent_threads.c.key == bindparam("p_key")).with_for_update()
_NOTE = (
    update(agent_threads)
    .where(agent_threads.c.key == bindparam("p_key"))
    .values(parts=bindparam("p_parts"), ended=bindparam("p_ended"))
)
_ITEMS = (
    select(outbox)
    .where(outbox.c.idem_key.in_(bindparam("p_keys", expanding=True)))
    .order_by(outbox.c.id)
    .with_for_update()
)
_ITEM = select(outbox).where(outbox.c.id == bindparam("p_id")).with_for_update()
_INSERT = insert(outbox).on_conflict_do_nothing()
_AMEND = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"))
    .values(payload=bindparam("p_payload", type_=outbox.c.payload.type))
)
_AGAIN = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"))
    .values(
        payload=bindparam("p_payload", type_=outbox.c.payload.type),
        state=OutboxState.READY.value,
        attempts=0,
        due_ms=bindparam("p_now", type_=outbox.c.due_ms.type),
    )
)
_CONFIRM = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"))
    .values(
        payload=bindparam("p_payload", type_=outbox.c.payload.type),
        state=OutboxState.SENT.value,
        message=bindparam("p_message", type_=outbox.c.message.type),
    )
)


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What one message shows: a line of ours, and below it words of the agent; both are masked."""

    head: str
    text: str = ""


def show(conn: Connection, key: str, messages: Sequence[AgentMessage], *, ended: bool) -> bool:
    """Have a thread show these messages; with ``ended`` they are its last state.

    ``False``: the thread has ended, or is not known.
    """
    row = conn.execute(_THREAD, {"p_key": key}).mappings().first()
    if row is None or row["ended"] or row["thread"] is None:
        return False
    count = max(len(messages), row["parts"])
    wanted = [*messages, *[AgentMessage(messages[-1].head)] * (count - len(messages))]
    known = _items(conn, key, count)
    for number, message in enumerate(wanted):
        payload = _payload(message, row["reply_to"])
        place = load(Target, row["thread"])
        _want(conn, known, _key(key, number), place, payload)
    conn.execute(_NOTE, {"p_key": key, "p_parts": count, "p_ended": int(ended)})
    note(conn, OUTBOX)
    return True


def shown(conn: Connection, key: str) -> tuple[AgentMessage, ...]:
    """Return what the messages of a thread show, or will once they are sent."""
    row = conn.execute(_THREAD, {"p_key": key}).mappings().first()
    count = 0 if row is None else row["parts"]
    known = _items(conn, key, count)
    found = (
        known.get(_EDIT + _key(key, number)) or known[_key(key, number)] for number in range(count)
    )
    return tuple(message_of(item["payload"])[0] for item in found)


def confirm(conn: Connection, item_id: int, payload: str, message: str) -> None:
    """Note that a message shows what ``payload`` says; where it should show more, that is next."""
    item = conn.execute(_ITEM, {"p_id": item_id}).mappings().first()
    if item is None:
        return
    values = {"p_id": item_id, "p_payload": payload, "p_message": message}
    conn.execute(_CONFIRM, values)
    if item["payload"] != payload:
        key = item["idem_key"].removeprefix(_EDIT)
        known = _by_key(conn, [key, _EDIT + key])
        _want(conn, known, key, load(Target, item["target"]), item["payload"])
        note(conn, OUTBOX)


def message_of(payload: str) -> tuple[AgentMessage, str]:
    """Return what a payload says: the message, and the id of the one that it replies to."""
    made = json.loads(payload)
    return AgentMessage(str(made["head"]), str(made["text"])), str(made["reply_to"])


def keys_of(key: str, parts: int) -> list[str]:
    """Return the keys of all items of a thread."""
    keys = [_key(key, number) for number in range(parts)]
    return [*keys, *(_EDIT + each for each in keys)]


def _want(
    conn: Connection, known: dict[str, RowMapping], key: str, place: Target, payload: str
) -> None:
    first, edit = known.get(key), known.get(_EDIT + key)
    if first is None:
        draft = PromptDraft(place, payload)
        conn.execute(_INSERT, item_row(OutboxKind.AGENT, None, draft, key, now_ms(conn)))
        return
    latest = edit or first
    if latest["payload"] == payload:
        return
    values = {"p_id": latest["id"], "p_payload": payload}
    if latest["state"] in _OPEN:
        conn.execute(_AMEND, values)
    elif edit is not None:
        conn.execute(_AGAIN, values | {"p_now": now_ms(conn)})
    elif first["message"] is not None:  # otherwise its place refused it for good
        draft = PromptDraft(place, payload)
        made = item_row(OutboxKind.EDIT, None, draft, _EDIT + key, now_ms(conn))
        conn.execute(_INSERT, made | {"message": first["message"]})


def _items(conn: Connection, key: str, count: int) -> dict[str, RowMapping]:
    return _by_key(conn, keys_of(key, count)) if count else {}


def _by_key(conn: Connection, keys: list[str]) -> dict[str, RowMapping]:
    return {row["idem_key"]: row for row in conn.execute(_ITEMS, {"p_keys": keys}).mappings()}


def _key(key: str, number: int) -> str:
    return f"agent:{key}:{number}"


def _payload(message: AgentMessage, reply_to: str) -> str:
    made = {"of": "agent", "head": message.head, "text": message.text, "reply_to": reply_to}
    return json.dumps(made)
