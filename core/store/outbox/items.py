"""Read claimed rows of the outbox; whoever claims one has it to itself for a while."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import RowMapping

from core.model.identity import ApprovalId, Target
from core.store.schema.json_columns import load
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind

CLAIM_MS: Final = 30_000
"""How long a sender has an item to itself; then it counts as dead."""


def items_of(rows: Sequence[RowMapping]) -> tuple[OutboxItem, ...]:
    """Return the items of rows of ``outbox``, in the order in which they were enqueued."""
    return tuple(_item(row) for row in sorted(rows, key=lambda row: int(row["id"])))


def _item(row: RowMapping) -> OutboxItem:
    return OutboxItem(
        id=row["id"],
        approval_id=ApprovalId(row["approval_id"]) if row["approval_id"] else None,
        target=load(Target, row["target"]),
        kind=OutboxKind(row["kind"]),
        payload=row["payload"],
        attempts=row["attempts"],
        message=row["message"],
        uncertain=bool(row["uncertain"]),
    )
