"""Return the status of each copy of a prompt: sent, still being tried, given up, and why."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from core.model.identity import ApprovalId, Target
from core.store.schema.json_columns import load
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import outbox

_COPIES = (
    select(outbox.c.target, outbox.c.step, outbox.c.state, outbox.c.why, outbox.c.message)
    .where(outbox.c.approval_id == bindparam("p_id"), outbox.c.kind == OutboxKind.PROMPT.value)
    .order_by(outbox.c.id)
)


@dataclass(frozen=True, slots=True)
class Receipt:
    """One copy of a prompt: its place and step of the ladder, its status, and why."""

    target: Target
    step: int
    state: OutboxState
    why: str
    message: str | None


def receipts(conn: Connection, approval_id: ApprovalId) -> tuple[Receipt, ...]:
    """Return the copies of an approval's prompt, in the order in which they were made."""
    rows = conn.execute(_COPIES, {"p_id": approval_id})
    return tuple(
        Receipt(
            load(Target, row.target), row.step, OutboxState(row.state), row.why or "", row.message
        )
        for row in rows
    )
