"""Read the status of requests: one, those that a message shows, how many are pending."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select, tuple_

from core.model.access import VisibleAgents
from core.model.identity import ApprovalId
from core.model.result import Pending, Running, Submission
from core.store.approvals.queries import get, is_visible
from core.store.outbox.message_lookup import members
from core.store.runs.outcomes import outcome
from core.store.schema.records import OutboxItem, ShownApproval
from core.store.schema.tables import IS_PENDING, approvals, runs

_IS_RUN = select(runs.c.id).where(runs.c.id == bindparam("p_id"))
_TIMES = select(runs.c.created_ms, runs.c.started_ms, runs.c.ended_ms).where(
    runs.c.id == bindparam("p_id")
)
_PENDING = select(func.count()).select_from(approvals).where(IS_PENDING)
_last = approvals.alias("last")
_PENDING_AFTER = _PENDING.where(
    tuple_(approvals.c.deadline_ms, approvals.c.id)
    > select(_last.c.deadline_ms, _last.c.id)
    .where(_last.c.id == bindparam("p_last"))
    .scalar_subquery()
)
_WAITING = select(func.count(), func.min(approvals.c.created_ms)).where(IS_PENDING)


def status_of(conn: Connection, run_id: ApprovalId) -> Submission | None:
    """Return the status of a request; ``None`` if none has this id.

    A request only moves on, question, run, end, so it is looked for from the first to the last: it
    cannot pass by between two reads.
    """
    approval = get(conn, run_id)
    is_run = conn.execute(_IS_RUN, {"p_id": run_id}).first() is not None
    ended = outcome(conn, run_id)
    if ended is not None:
        return ended
    if approval is not None and approval.resolution is None:
        return Pending(run_id, approval.code, approval.deadline_ms)
    return None if approval is None and not is_run else Running(run_id)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When a run was stored, started and ended (epoch ms); ``None`` where it has not yet."""

    created_ms: int
    started_ms: int | None
    ended_ms: int | None


def run_times(conn: Connection, run_id: ApprovalId) -> RunTimes | None:
    """Return the times of a run; ``None`` where nothing was to run."""
    row = conn.execute(_TIMES, {"p_id": run_id}).first()
    return None if row is None else RunTimes(row.created_ms, row.started_ms, row.ended_ms)


def pending(conn: Connection, visible: VisibleAgents | None = None) -> int:
    """Return how many approvals wait for an answer; ``visible``: of those agents."""
    return int(conn.execute(_PENDING.where(is_visible(visible))).scalar_one())


def pending_after(conn: Connection, last: ApprovalId, visible: VisibleAgents | None = None) -> int:
    """Return how many wait after ``last``, in the order in which the pending are listed."""
    query = _PENDING_AFTER.where(is_visible(visible))
    return int(conn.execute(query, {"p_last": last}).scalar_one())


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many approvals wait for an answer, and when the oldest was asked (epoch ms)."""

    count: int
    oldest_ms: int | None


def waiting(conn: Connection) -> Waiting:
    """Return how many approvals wait, and since when."""
    count, oldest_ms = conn.execute(_WAITING).one()
    return Waiting(int(count), None if oldest_ms is None else int(oldest_ms))


def shown_by(conn: Connection, edit: OutboxItem) -> tuple[ShownApproval, ...]:
    """Return what the message of an edit shows, in the order of its prompts.

    A message that no prompt is recorded for shows the edit's own approval; one that is gone is
    left out.
    """
    known = members(conn, edit.target, edit.message) if edit.message else ()
    own = (edit.approval_id,) if edit.approval_id else ()
    found = (get(conn, approval_id) for approval_id in known or own)
    return tuple(
        ShownApproval(approval, None if approval.resolution is None else outcome(conn, approval.id))
        for approval in found
        if approval is not None
    )
