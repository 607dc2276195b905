"""Look up runs that were ordered from a node."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.store.schema.people_tables import nodes
from core.store.schema.states import RowState
from core.store.schema.tables import IS_OPEN_RUN, runs

_RUN = select(runs.c.owner, runs.c.state).where(
    runs.c.id == bindparam("p_id"), runs.c.place == bindparam("p_place")
)
_LEFT = select(runs.c.id).where(
    IS_OPEN_RUN,
    runs.c.state == RowState.STARTED.value,
    runs.c.place == bindparam("p_place"),
    runs.c.owner != bindparam("p_owner"),
)
_NODE_OF = (
    select(runs.c.place)
    .join(nodes, nodes.c.id == runs.c.place)
    .where(runs.c.id == bindparam("p_id"), runs.c.state == RowState.STARTED.value)
)
_OPEN = frozenset({RowState.STARTED.value, RowState.UNKNOWN.value})


@dataclass(frozen=True, slots=True)
class NodeRun:
    """A run on a node: which boot of a gateway claimed it, and whether its ending is missing."""

    owner: str
    is_open: bool


def find(conn: Connection, run_id: ApprovalId, node_id: str) -> NodeRun | None:
    """Return the run with this id if it was this node's, ``None`` otherwise."""
    row = conn.execute(_RUN, {"p_id": run_id, "p_place": node_id}).first()
    return None if row is None else NodeRun(row.owner or "", row.state in _OPEN)


def left_on(conn: Connection, node_id: str, owner: str) -> tuple[ApprovalId, ...]:
    """Return the runs of a node that were not claimed by ``owner`` and have not ended."""
    rows = conn.execute(_LEFT, {"p_place": node_id, "p_owner": owner})
    return tuple(ApprovalId(row.id) for row in rows)


def node_of(conn: Connection, run_id: ApprovalId) -> NodeId | None:
    """Return the paired node on which a run has started and not ended, as far as is known."""
    found = conn.execute(_NODE_OF, {"p_id": run_id}).scalar()
    return None if found is None else NodeId(found)
