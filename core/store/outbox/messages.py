"""Bring every shown copy of a prompt to its approval's true final state (invariant 8)."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import (
    Connection,
    Text,
    TextClause,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import Select

from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.engine.notifications import OUTBOX, note
from core.store.outbox.items import CLAIM_MS, items_of
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import (
    IS_ENDED_PROMPT,
    IS_SHOWN_COPY,
    IS_SHOWN_PROMPT,
    IS_STALE_PROMPT,
    outbox,
)

_FOLLOW_UP_COLUMNS = [
    outbox.c.approval_id,
    outbox.c.prompt_id,
    outbox.c.channel,
    outbox.c.target,
    outbox.c.step,
    outbox.c.kind,
    outbox.c.payload,
    outbox.c.state,
    outbox.c.attempts,
    outbox.c.due_ms,
    outbox.c.uncertain,
    outbox.c.idem_key,
    outbox.c.message,
    outbox.c.created_ms,
]
_NOW = bindparam("p_now", type_=outbox.c.due_ms.type)
OF_REMINDER = '{"of": "reminder"}'
"""The payload of an edit that ends a reminder, and not a prompt."""
_edit = outbox.alias("edit")


def _follow_ups(
    kind: OutboxKind, key: ColumnElement[str], which: TextClause = IS_SHOWN_PROMPT
) -> Select[tuple[object, ...]]:
    """Select, for each shown copy, the row that follows it up."""
    return select(
        outbox.c.approval_id,
        outbox.c.id,
        outbox.c.channel,
        outbox.c.target,
        outbox.c.step,
        literal(kind.value),
        case(
            (outbox.c.kind == OutboxKind.REMINDER.value, OF_REMINDER),
            else_=outbox.c.payload,
        ),
        literal(OutboxState.READY.value),
        literal(0),
        _NOW,
        literal(0),
        key,
        outbox.c.message,
        _NOW,
    ).where(which)


_OF_SENDER = outbox.c.channel.in_(bindparam("p_channels", type_=Text, expanding=True))
_CLAIMED_COLUMNS = [*_FOLLOW_UP_COLUMNS, outbox.c.claimed_by]


def _claimed(follow_ups: Select[tuple[object, ...]]) -> Select[tuple[object, ...]]:
    """Let the rows for ``p_channels`` be claimed by ``p_boot`` from the start."""
    claimed = {
        outbox.c.state: (literal(OutboxState.SENDING.value), literal(OutboxState.READY.value)),
        outbox.c.attempts: (literal(1), literal(0)),
        outbox.c.due_ms: (bindparam("p_due", type_=outbox.c.due_ms.type), _NOW),
        outbox.c.claimed_by: (bindparam("p_boot", type_=Text), null()),
    }
    values = zip(_CLAIMED_COLUMNS, [*follow_ups.selected_columns, null()], strict=True)
    return follow_ups.with_only_columns(
        *(
            case((_OF_SENDER, claimed[column][0]), else_=claimed[column][1])
            if column in claimed
            else value
            for column, value in values
        )
    )


_EDIT_KEY = literal("edit:") + cast(outbox.c.id, Text)
_OF_APPROVALS = outbox.c.approval_id.in_(bindparam("p_ids", expanding=True))
_EDITS = _follow_ups(OutboxKind.EDIT, _EDIT_KEY, IS_SHOWN_COPY)
_INSERT_EDITS = (
    insert(outbox)
    .from_select(_FOLLOW_UP_COLUMNS, _EDITS.where(_OF_APPROVALS))
    .on_conflict_do_nothing()
)
_INSERT_CLAIMED = (
    insert(outbox)
    .from_select(_CLAIMED_COLUMNS, _claimed(_EDITS.where(_OF_APPROVALS)))
    .on_conflict_do_nothing()
    .returning(outbox)
)
_INSERT_MISSING = (
    insert(outbox)
    .from_select(
        _FOLLOW_UP_COLUMNS,
        _follow_ups(OutboxKind.EDIT, _EDIT_KEY, IS_STALE_PROMPT).where(
            ~exists().where(_edit.c.idem_key == _EDIT_KEY)
        ),
    )
    .on_conflict_do_nothing()
)
_REMIND_KEY = (
    literal("remind:")
    + cast(outbox.c.id, Text)
    + literal(":")
    + cast(bindparam("p_now", type_=outbox.c.due_ms.type), Text)
)
_INSERT_REMINDERS = (
    insert(outbox)
    .from_select(
        _FOLLOW_UP_COLUMNS, _follow_ups(OutboxKind.REMINDER, _REMIND_KEY).where(_OF_APPROVALS)
    )
    .on_conflict_do_nothing()
)
_IS_UNSENT = and_(
    outbox.c.state == OutboxState.READY.value,
    outbox.c.kind.in_((OutboxKind.PROMPT.value, OutboxKind.REMINDER.value)),
)
_END_QUESTIONS = (
    update(outbox)
    .where(_OF_APPROVALS, or_(_IS_UNSENT, IS_SHOWN_COPY))
    .values(
        state=case((_IS_UNSENT, OutboxState.DROPPED.value), else_=OutboxState.STALE.value),
        why=case((_IS_UNSENT, "decided before it was sent"), else_=null()),
    )
)
_edits_of = and_(_edit.c.prompt_id == outbox.c.id, _edit.c.kind == OutboxKind.EDIT.value)
_WAITS = exists().where(_edits_of, _edit.c.state == OutboxState.READY.value)
_IS_OPEN_EDIT = _edit.c.state.in_((OutboxState.READY.value, OutboxState.SENDING.value))
_CLOSE = (
    update(outbox)
    .where(outbox.c.id == bindparam("p_id"), ~exists().where(_edits_of, _IS_OPEN_EDIT))
    .values(state=OutboxState.CLOSED.value)
)
_END_KEY = literal("end:") + cast(outbox.c.id, Text)
_REENQUEUE = (
    insert(outbox)
    .from_select(
        _FOLLOW_UP_COLUMNS,
        _follow_ups(OutboxKind.EDIT, _END_KEY, IS_ENDED_PROMPT).where(_OF_APPROVALS, ~_WAITS),
    )
    .on_conflict_do_nothing()
    .returning(outbox.c.prompt_id)
)
_REOPEN = (
    update(outbox)
    .where(outbox.c.id.in_(bindparam("p_ids", expanding=True)))
    .values(state=OutboxState.STALE.value)
)
_COUNT_OPEN = select(func.count()).select_from(outbox).where(IS_STALE_PROMPT)


def settle(
    conn: Connection, ids: Sequence[str], now: int, channels: Collection[str] = ()
) -> tuple[OutboxItem, ...]:
    """Drop the unsent prompts of ended approvals, and enqueue an edit for what is shown of them.

    What is shown are copies and reminders. Edits for ``channels`` are claimed for ``CLAIM_MS``, and
    returned: nobody else sends them.
    """
    named = {"p_ids": ids, "p_now": now}
    claimed: tuple[OutboxItem, ...] = ()
    if channels:
        claimed, waits = _insert_claimed(conn, named, channels)
    else:
        waits = bool(conn.execute(_INSERT_EDITS, named).rowcount)
    if waits:
        note(conn, OUTBOX)
    conn.execute(_END_QUESTIONS, {"p_ids": ids})
    return claimed


def _insert_claimed(
    conn: Connection, named: Mapping[str, object], channels: Collection[str]
) -> tuple[tuple[OutboxItem, ...], bool]:
    """Enqueue edits; return those that are claimed, and whether others wait for any sender."""
    claim = {
        "p_channels": list(channels),
        "p_due": now_ms(conn) + CLAIM_MS,
        "p_boot": context_of(conn).boot,
    }
    rows = conn.execute(_INSERT_CLAIMED, {**named, **claim}).mappings().all()
    claimed = [row for row in rows if row["state"] == OutboxState.SENDING.value]
    return items_of(claimed), len(claimed) < len(rows)


def update_shown(conn: Connection, ids: Sequence[str], now: int) -> None:
    """Enqueue an edit for each copy that showed the decision, now that the run has ended as well.

    A copy whose edit still waits needs no second one: it shows what is true when it is sent.
    """
    shown = list(conn.execute(_REENQUEUE, {"p_ids": ids, "p_now": now}).scalars())
    if shown:
        conn.execute(_REOPEN, {"p_ids": shown})
        note(conn, OUTBOX)


def remind(conn: Connection, ids: Sequence[str], now: int) -> None:
    """Enqueue a reminder for each shown copy of these pending approvals."""
    if conn.execute(_INSERT_REMINDERS, {"p_ids": ids, "p_now": now}).rowcount:
        note(conn, OUTBOX)


def close(conn: Connection, prompt_id: int) -> None:
    """Note that a shown copy now shows the final state, or never will (its edit was given up).

    A copy that has another edit to come, since its run ended meanwhile, stays open.
    """
    conn.execute(_CLOSE, {"p_id": prompt_id})


def open_surfaces(conn: Connection) -> int:
    """Count the shown copies whose approval has ended and whose edit is not done."""
    return int(conn.execute(_COUNT_OPEN).scalar_one())


def enqueue_missing(conn: Connection, now: int) -> None:
    """Enqueue the edits that should exist and do not (a safety net at start)."""
    if conn.execute(_INSERT_MISSING, {"p_now": now}).rowcount:
        note(conn, OUTBOX)
