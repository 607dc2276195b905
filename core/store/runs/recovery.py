"""Name the runs whose gateway died; they are never run again (invariant 6)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    RowMapping,
    Text,
    and_,
    bindparam,
    delete,
    exists,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from core.model.events import EventKind, finished_text
from core.model.identity import ApprovalId
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.engine.notifications import note_run
from core.store.outbox import messages
from core.store.schema.people_tables import nodes
from core.store.schema.records import OrphanedRun
from core.store.schema.states import ALL_NOTED, RowState
from core.store.schema.tables import IS_OPEN_RUN, replicas, runs
from core.store.sessions import events

_GRACE_MS = 60_000
"""How long a run's owner may be without any heartbeat before it counts as dead (PostgreSQL)."""

_beats = exists().where(replicas.c.id == runs.c.owner, replicas.c.expires_ms > bindparam("p_now"))
_known = exists().where(replicas.c.id == runs.c.owner)
# A node keeps running without its gateway, and says how it ended when it is back.
_is_on_a_node = exists().where(nodes.c.id == runs.c.place)
_OTHERS_RUN = and_(
    IS_OPEN_RUN,
    runs.c.state == RowState.STARTED.value,
    runs.c.owner != bindparam("p_owner"),
    ~_is_on_a_node,
)
_IS_SPARED = runs.c.owner.in_(bindparam("p_spared", type_=Text, expanding=True))
_UNKNOWN = {
    "state": RowState.UNKNOWN.value,
    "ended_ms": bindparam("p_now"),
    "noted": ALL_NOTED,
    "journal": bindparam("p_journal", type_=Text),
}
_RECOVER = (
    update(runs)
    .where(
        _OTHERS_RUN,
        or_(
            bindparam("p_alone") == 1,
            and_(
                bindparam("p_lapsed") == 1,
                ~_beats,
                ~_IS_SPARED,
                or_(_known, runs.c.started_ms < bindparam("p_now") - _GRACE_MS),
            ),
        ),
    )
    .values(_UNKNOWN)
    .returning(
        runs.c.id,
        runs.c.session,
        runs.c.place,
        runs.c.pid,
        runs.c.pgid,
        runs.c.start_ticks,
        runs.c.boot_id,
    )
)
_DEAD = bindparam("p_dead", type_=Text, expanding=True)
_FORGET = delete(replicas).where(replicas.c.id.in_(_DEAD))
_RECOVER_OF = (
    update(runs)
    .where(_OTHERS_RUN, runs.c.owner.in_(_DEAD))
    .values(_UNKNOWN)
    .returning(*_RECOVER.exported_columns)
)
_HELD = (
    select(runs.c.id, runs.c.state, runs.c.journal)
    .where(runs.c.id.in_(bindparam("p_ids", expanding=True)))
    .order_by(runs.c.id)
    .with_for_update()
)
_UNCLAIMED = select(runs.c.id, runs.c.created_ms).where(
    IS_OPEN_RUN, runs.c.state == RowState.QUEUED.value
)
_CLAIMED = select(runs.c.id, runs.c.owner, runs.c.started_ms)
_INTERRUPTED = union_all(
    _CLAIMED.where(
        IS_OPEN_RUN, runs.c.state == RowState.STARTED.value, runs.c.owner != bindparam("p_owner")
    ),
    _CLAIMED.where(
        runs.c.created_ms >= bindparam("p_since"), runs.c.state == RowState.UNKNOWN.value
    ),
)


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A run without a stored result; who claimed it, and when (epoch ms)."""

    id: ApprovalId
    owner: str
    started_ms: int


def interrupted(conn: Connection, owner: str, since_ms: int) -> tuple[InterruptedRun, ...]:
    """Return the runs of others than ``owner`` that are started, and what is ``unknown``.

    ``since_ms``: what was asked for earlier stays unknown. The runs of a live gateway are among
    them; whoever asks must know how they ended.
    """
    rows = conn.execute(_INTERRUPTED, {"p_owner": owner, "p_since": since_ms})
    return tuple(InterruptedRun(ApprovalId(row.id), row.owner, row.started_ms) for row in rows)


def unclaimed(conn: Connection) -> dict[ApprovalId, int]:
    """Return the allowed runs that nobody has claimed, and when each was asked for (epoch ms)."""
    return {ApprovalId(row.id): row.created_ms for row in conn.execute(_UNCLAIMED)}


def recover(
    conn: Connection, owner: str, spared: Collection[str] = (), *, lapsed: bool = True
) -> tuple[OrphanedRun, ...]:
    """End as ``unknown`` every started run of an owner that is taken for dead; return them.

    SQLite: every owner but this one is dead, because the lock on the file is ours. PostgreSQL: an
    owner is taken for dead when its heartbeat has ended, unless it is one of ``spared`` or
    ``lapsed`` is false. Its processes may live: end none of them for that. What runs on a paired
    node is left to that node's word. Each run is returned, and its session notified, exactly once.
    """
    alone = int(context_of(conn).alone)
    values = {"p_owner": owner, "p_alone": alone, "p_lapsed": int(lapsed)}
    return _recovered(conn, _RECOVER, values | {"p_spared": list(spared)})


def recover_of(conn: Connection, owner: str, dead: Collection[str]) -> tuple[OrphanedRun, ...]:
    """End as ``unknown`` every started run of the owners that are known to be dead; return them.

    Whether their heartbeat has ended does not matter. What their runs left behind may be ended.
    The owners are forgotten.
    """
    conn.execute(_FORGET, {"p_dead": list(dead)})
    return _recovered(conn, _RECOVER_OF, {"p_owner": owner, "p_dead": list(dead)})


def recovered(conn: Connection, ids: Collection[ApprovalId]) -> frozenset[ApprovalId]:
    """Return which of these runs were ended as ``unknown`` here, once no end is being committed.

    That is how to learn what became of a COMMIT whose answer was lost.
    """
    own = (RowState.UNKNOWN.value, context_of(conn).journal)
    rows = conn.execute(_HELD, {"p_ids": list(ids)}).all() if ids else ()
    return frozenset(ApprovalId(row.id) for row in rows if (row.state, row.journal) == own)


def _recovered(
    conn: Connection, statement: ReturningUpdate[Any], values: dict[str, object]
) -> tuple[OrphanedRun, ...]:
    now = now_ms(conn)
    ended = {"p_now": now, "p_journal": context_of(conn).journal}
    rows = conn.execute(statement, values | ended).mappings().all()
    events.append(conn, [_ended(row) for row in rows], now)
    for row in rows:
        note_run(conn, row["id"])
    if rows:
        messages.update_shown(conn, [row["id"] for row in rows], now)
    return tuple(_orphan(row) for row in rows)


def _ended(row: RowMapping) -> events.NewEvent:
    text = finished_text(row["place"], row["id"], "unknown", "")
    return events.NewEvent(row["session"], EventKind.FINISHED, text, row["id"])


def _orphan(row: RowMapping) -> OrphanedRun:
    return OrphanedRun(
        ApprovalId(row["id"]), row["pid"], row["pgid"], row["start_ticks"], row["boot_id"]
    )
