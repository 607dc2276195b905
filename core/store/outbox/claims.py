"""Hand out the work of the outbox, and take it back from senders that died."""

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    null,
    select,
    update,
)

from core.model.identity import Target
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.outbox import messages
from core.store.outbox.items import items_of
from core.store.schema.json_columns import dump
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import (
    IS_OPEN_ITEM,
    IS_PENDING,
    IS_SHOWN_PROMPT,
    approvals,
    outbox,
)

_NOW = bindparam("p_now", type_=outbox.c.due_ms.type)
_DUE = bindparam("p_due", type_=outbox.c.due_ms.type)
IS_SENDING = outbox.c.state == OutboxState.SENDING.value
_IS_REPEATABLE = outbox.c.kind.in_(
    (OutboxKind.PROMPT.value, OutboxKind.EDIT.value, OutboxKind.AGENT.value)
)
_IS_QUESTION = outbox.c.kind.in_((OutboxKind.PROMPT.value, OutboxKind.REMINDER.value))
IS_POINTLESS = and_(
    _IS_QUESTION, ~exists().where(approvals.c.id == outbox.c.approval_id, IS_PENDING)
)
_DROP_POINTLESS = (
    update(outbox)
    .where(IS_OPEN_ITEM, outbox.c.due_ms <= _NOW, IS_POINTLESS)
    .values(state=OutboxState.DROPPED.value, why="decided before it was sent")
)


def given_up(when: ColumnElement[bool]) -> ColumnElement[str]:
    """Return the state of an item whose claim ended; ``when`` it may have been sent."""
    return case(
        (and_(when, ~_IS_REPEATABLE), OutboxState.UNCERTAIN.value),
        else_=OutboxState.READY.value,
    )


_end_claims = (
    update(outbox)
    .where(IS_OPEN_ITEM, IS_SENDING)
    .values(state=given_up(IS_SENDING), uncertain=1, due_ms=_NOW)
)
_END_LAPSED = _end_claims.where(outbox.c.due_ms <= _NOW)
_END_FOREIGN = _end_claims.where(outbox.c.claimed_by != bindparam("p_boot"))
_due = (
    select(outbox.c.id)
    .where(IS_OPEN_ITEM, outbox.c.state == OutboxState.READY.value, outbox.c.due_ms <= _NOW)
    .where(outbox.c.channel.in_(bindparam("p_channels", expanding=True)))
    .where(outbox.c.target.not_in(bindparam("p_busy", type_=Text, expanding=True)))
    .order_by(outbox.c.due_ms, outbox.c.id)
    .limit(bindparam("p_limit"))
    .with_for_update(skip_locked=True)  # PostgreSQL: what another replica claims is its own
    .cte("due")
)
_CLAIM = (
    update(outbox)
    .where(outbox.c.id.in_(select(_due.c.id)), outbox.c.state == OutboxState.READY.value)
    .values(
        state=OutboxState.SENDING.value,
        attempts=outbox.c.attempts + 1,
        due_ms=_DUE,
        claimed_by=bindparam("p_boot"),
    )
    .returning(outbox)
)
_REDRAW = (
    update(outbox)
    .where(
        outbox.c.approval_id.in_(select(approvals.c.id).where(IS_PENDING)),  # few, by an index
        IS_SHOWN_PROMPT,
        outbox.c.channel.in_(bindparam("p_channels", type_=Text, expanding=True)),
        outbox.c.claimed_by != bindparam("p_boot"),
    )
    .values(state=OutboxState.READY.value, message=null(), due_ms=_NOW)
)
_NEXT_DUE = select(func.min(outbox.c.due_ms)).where(IS_OPEN_ITEM)


def claim(
    conn: Connection,
    limit: int,
    claim_ms: int,
    channels: tuple[str, ...],
    busy: tuple[Target, ...] = (),
) -> tuple[OutboxItem, ...]:
    """Claim at most ``limit`` due items of these channels for ``claim_ms``, the oldest first.

    Nothing for a place in ``busy`` is handed out, so that one slow place holds up nothing else.
    """
    now = now_ms(conn)
    _tidy(conn, now)
    items = {
        "p_now": now,
        "p_due": now + claim_ms,
        "p_limit": limit,
        "p_channels": channels,
        "p_busy": [dump(place) for place in busy],
        "p_boot": context_of(conn).boot,
    }
    rows = conn.execute(_CLAIM, items).mappings().all()
    return items_of(rows)


def next_due(conn: Connection) -> int | None:
    """Return when the next item is due or the next claim ends (epoch ms)."""
    found: int | None = conn.execute(_NEXT_DUE).scalar()
    return found


def reconcile(conn: Connection, fleeting: tuple[str, ...] = ()) -> None:
    """Free the claims of dead senders and enqueue missing edits; run it at start.

    What ``fleeting`` channels showed is gone with the process that showed it: what still waits
    there is due again. Another replica that lives shows it a second time.
    """
    now = now_ms(conn)
    context = context_of(conn)
    mine = {"p_now": now, "p_boot": context.boot}
    if context.alone:  # elsewhere another replica may be sending: its claim must lapse first
        conn.execute(_END_FOREIGN, mine)
    if fleeting:
        conn.execute(_REDRAW, mine | {"p_channels": fleeting})
    _tidy(conn, now)
    messages.enqueue_missing(conn, now)


def _tidy(conn: Connection, now: int) -> None:
    conn.execute(_END_LAPSED, {"p_now": now})
    conn.execute(_DROP_POINTLESS, {"p_now": now})
