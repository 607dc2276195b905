"""Find what a person means by an id, a code or the start of an id, asked or not."""

from sqlalchemy import Connection, bindparam, select

from core.model.identity import ApprovalId
from core.store.approvals.history_rows import rows_of
from core.store.approvals.queries import SHORTEST_PREFIX, find, plain_ref
from core.store.schema.records import HistoryRow
from core.store.schema.tables import runs

_MOST = 10
_LAST = "z" * 26
_RUNS = (
    select(runs.c.id)
    .where(runs.c.id.between(bindparam("p_low"), bindparam("p_high")))
    .order_by(runs.c.created_ms.desc())
    .limit(_MOST)
)


def matching(conn: Connection, ref: str) -> tuple[ApprovalId, ...]:
    """Return the requests that ``ref`` may mean, asked or not; more than one is ambiguous.

    An unasked run is named by its id or by the first characters of it, as its code shows them.
    """
    asked = [approval.id for approval in find(conn, ref)]
    low = plain_ref(ref)
    if len(low) < SHORTEST_PREFIX:
        return tuple(asked)
    found = conn.execute(_RUNS, {"p_low": low, "p_high": low + _LAST}).scalars()
    return tuple(dict.fromkeys([*asked, *(ApprovalId(run_id) for run_id in found)]))


def past(conn: Connection, ref: str) -> tuple[HistoryRow, ...]:
    """Return the rows of the history that ``ref`` may mean; more than one is ambiguous."""
    return rows_of(conn, matching(conn, ref))
