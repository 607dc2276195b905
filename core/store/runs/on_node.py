"""Look up a run that a node was ordered."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from core.model.identity import ApprovalId
from core.store.schema.states import RowState
from core.store.schema.tables import runs

_RUN = select(runs.c.owner, runs.c.state).where(
    runs.c.id == bindparam("p_id"), runs.c.place == bindparam("p_place")
)
_OPEN = frozenset({RowState.STARTED.value, RowState.UNKNOWN.value})


@dataclass(frozen=True, slots=True)
class NodeRun:
    """A run on a node: which boot of a gateway claimed it, and whether its ending is missing."""

    owner: str
    is_open: bool


def find(conn: Connection, run_id: ApprovalId, node_id: str) -> NodeRun | None:
    """Return a run of this id if it was this node's, ``None`` otherwise."""
    row = conn.execute(_RUN, {"p_id": run_id, "p_place": node_id}).first()
    return None if row is None else NodeRun(row.owner or "", row.state in _OPEN)
