"""Tell where a request stands now: asked, underway, or how it ended."""

from sqlalchemy import Connection, bindparam, select

from core.model.identity import ApprovalId
from core.model.result import Pending, Running, Submission
from core.store.approvals import queries
from core.store.runs.outcomes import outcome
from core.store.schema.tables import runs

_IS_RUN = select(runs.c.id).where(runs.c.id == bindparam("p_id"))


def status_of(conn: Connection, run_id: ApprovalId) -> Submission | None:
    """Return where a request stands; ``None`` if there is none of this id.

    A request only moves on, question, run, end, so it is looked for from the first to the last: it
    cannot pass by between two looks.
    """
    approval = queries.get(conn, run_id)
    is_run = conn.execute(_IS_RUN, {"p_id": run_id}).first() is not None
    ended = outcome(conn, run_id)
    if ended is not None:
        return ended
    if approval is not None and approval.resolution is None:
        return Pending(run_id, approval.code, approval.deadline_ms)
    return None if approval is None and not is_run else Running(run_id)
