"""List what was asked, allowed and refused, the newest first."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import (
    JSON,
    Connection,
    RowMapping,
    Select,
    Table,
    Text,
    bindparam,
    cast,
    literal,
    null,
    select,
)

from core.model.approval import ApprovalReply, ApprovalState, GrantTerms
from core.model.decision import DenialReason
from core.model.identity import AgentId, ApprovalId, SessionKey, TaskId, code_of
from core.model.result import Finished, Output
from core.store.approvals.narrowing import Narrowing
from core.store.approvals.queries import actor_of
from core.store.schema.json_columns import load
from core.store.schema.records import HistoryRow
from core.store.schema.states import DecisionSource, RowState
from core.store.schema.tables import approvals, decisions, runs

_Row = TypeVar("_Row", bound=tuple[object, ...])
_PAGE, _MOST_SEARCHED = 500, 10_000
"""Rows that a search reads at once, and of approvals or of runs in all."""

# Only these parts of the result are read: what a run printed may be long, and a list has many.
_RESULT = cast(runs.c.result, JSON().with_variant(Text(), "sqlite"))
_ENDED = (
    runs.c.exit_code,
    _RESULT["signal"].as_integer().label("signal"),
    _RESULT["duration_ms"].as_integer().label("duration_ms"),
    _RESULT["timed_out"].as_boolean().label("timed_out"),
    _RESULT["cancelled"].as_boolean().label("cancelled"),
    _RESULT["drift"].as_string().label("drift"),
)
_ASKED: Select[tuple[object, ...]] = (
    select(
        approvals.c.id,
        approvals.c.created_ms,
        approvals.c.agent,
        approvals.c.session,
        approvals.c.place,
        approvals.c.text,
        approvals.c.task,
        approvals.c.state,
        decisions.c.source,
        decisions.c.reply,
        decisions.c.terms,
        decisions.c.reason,
        decisions.c.channel,
        decisions.c.account,
        decisions.c.name,
        runs.c.state.label("run_state"),
        runs.c.reason.label("run_reason"),
        *_ENDED,
    )
    .select_from(
        approvals.outerjoin(decisions, decisions.c.approval_id == approvals.c.id).outerjoin(
            runs, runs.c.id == approvals.c.id
        )
    )
    .order_by(approvals.c.created_ms.desc(), approvals.c.id)
    .limit(bindparam("p_limit"))
)
_UNASKED: Select[tuple[object, ...]] = (
    select(
        runs.c.id,
        runs.c.created_ms,
        runs.c.agent,
        runs.c.session,
        runs.c.place,
        runs.c.text,
        runs.c.task,
        null().label("state"),
        literal(DecisionSource.POLICY.value).label("source"),
        null().label("reply"),
        null().label("terms"),
        null().label("reason"),
        null().label("account"),
        runs.c.state.label("run_state"),
        runs.c.reason.label("run_reason"),
        *_ENDED,
    )
    .where(runs.c.asked == 0)
    .order_by(runs.c.created_ms.desc(), runs.c.id)
    .limit(bindparam("p_limit"))
)


def _times(table: Table) -> Select[tuple[int]]:
    """Read when one row was made, ``p_skip`` rows before the newest."""
    newest_first = select(table.c.created_ms).order_by(table.c.created_ms.desc())
    return newest_first.limit(1).offset(bindparam("p_skip"))


_ASKED_AT = _times(approvals)
_UNASKED_AT = _times(runs).where(runs.c.asked == 0)
_ANY = Narrowing()


def history(
    conn: Connection,
    limit: int,
    before_ms: int | None = None,
    agent: str | None = None,
    since_ms: int | None = None,
    narrowing: Narrowing = _ANY,
) -> tuple[HistoryRow, ...]:
    """Return the last ``limit`` approvals and unasked runs from ``since_ms`` to ``before_ms``."""
    rows = [
        row
        for query, table in ((_ASKED, approvals), (_UNASKED, runs))
        for row in conn.execute(
            _narrowed(query, table, before_ms, agent, since_ms).where(*narrowing.conditions(table)),
            {"p_limit": limit},
        ).mappings()
    ]
    rows.sort(key=lambda row: (-int(row["created_ms"]), str(row["id"])))
    return tuple(_history_row(row) for row in rows[:limit])


def search(
    conn: Connection,
    keep: Callable[[HistoryRow], bool],
    limit: int,
    before_ms: int | None = None,
    agent: str | None = None,
    since_ms: int | None = None,
    narrowing: Narrowing = _ANY,
    *,
    bounded: bool = True,
) -> tuple[HistoryRow, ...]:
    """Return the newest rows that ``keep`` takes, ``limit`` at most.

    ``narrowing`` leaves out in the database what ``keep`` would not take. ``bounded``: the search
    goes back to ``searched_from`` at most, and what is older takes another search.
    """
    if bounded:
        since_ms = searched_from(conn, before_ms, agent, since_ms, narrowing)
    found: dict[ApprovalId, HistoryRow] = {}
    seen: set[ApprovalId] = set()
    size = min(limit, _PAGE)
    while True:
        page = history(conn, size, before_ms, agent, since_ms, narrowing)
        fresh = [row for row in page if row.id not in seen]
        seen.update(row.id for row in fresh)
        found.update((row.id, row) for row in fresh if keep(row))
        if len(page) < size or len(found) >= limit:
            break
        # Rows of one millisecond may be on both sides of the page's end, so they are read again.
        before_ms = page[-1].at_ms + 1
        size = _PAGE + sum(row.at_ms == page[-1].at_ms for row in page)
    return tuple(found.values())[:limit]


def searched_from(
    conn: Connection,
    before_ms: int | None = None,
    agent: str | None = None,
    since_ms: int | None = None,
    narrowing: Narrowing = _ANY,
) -> int | None:
    """Return how far back one search goes: to its own beginning, or to where 10,000 rows are read.

    That many approvals or that many unasked runs. For one session an index finds them all.
    """
    if narrowing.session is not None:
        return since_ms
    begins = [since_ms]
    for query, table in ((_ASKED_AT, approvals), (_UNASKED_AT, runs)):
        narrowed = _narrowed(query, table, before_ms, agent, since_ms)
        row = conn.execute(narrowed, {"p_skip": _MOST_SEARCHED - 1}).first()
        begins.append(None if row is None else row.created_ms)
    return max((one for one in begins if one is not None), default=None)


def rows_of(conn: Connection, ids: Sequence[str]) -> tuple[HistoryRow, ...]:
    """Return the rows with these ids."""
    rows = (
        row
        for query, table in ((_ASKED, approvals), (_UNASKED, runs))
        for row in conn.execute(query.where(table.c.id.in_(ids)), {"p_limit": len(ids)}).mappings()
    )
    return tuple(map(_history_row, rows))


def _narrowed(
    query: Select[_Row],
    table: Table,
    before_ms: int | None,
    agent: str | None,
    since_ms: int | None,
) -> Select[_Row]:
    if before_ms is not None:
        query = query.where(table.c.created_ms < before_ms)
    if since_ms is not None:
        query = query.where(table.c.created_ms >= since_ms)
    if agent is not None:
        query = query.where(table.c.agent == agent)
    return query


def _history_row(row: RowMapping) -> HistoryRow:
    run_state, end = row["run_state"], _end(row)
    reason = row["run_reason"] or row["reason"]
    if end is not None and end.drift:
        reason = DenialReason.PLAN_DRIFT
    return HistoryRow(
        id=ApprovalId(row["id"]),
        code=code_of(row["id"]),
        at_ms=row["created_ms"],
        agent=AgentId(row["agent"]),
        session=SessionKey(row["session"]),
        place=row["place"],
        text=row["text"],
        source=DecisionSource(row["source"]) if row["source"] else None,
        by=actor_of(row),
        reply=ApprovalReply(row["reply"]) if row["reply"] else None,
        reason=DenialReason(reason) if reason else None,
        state=RowState(run_state) if run_state else ApprovalState(row["state"]),
        end=end,
        task=TaskId(row["task"]) if row["task"] is not None else None,
        terms=load(GrantTerms, row["terms"]) if row["terms"] else None,
    )


def _end(row: RowMapping) -> Finished | None:
    if row["run_state"] != RowState.DONE.value:
        return None
    return Finished(
        run_id=ApprovalId(row["id"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        output=Output(),
        duration_ms=row["duration_ms"],
        timed_out=row["timed_out"],
        cancelled=bool(row["cancelled"]),  # what an older Sayso wrote says nothing about it
        drift=row["drift"] or "",
    )
