"""Read all that the edit of a message needs, as one snapshot and in one trip to the store."""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.model.approval import Approval
from core.model.result import ExecResult
from core.store.approvals.queries import get
from core.store.outbox.message_lookup import members
from core.store.runs.outcomes import outcome
from core.store.schema.records import OutboxItem


@dataclass(frozen=True, slots=True)
class Shown:
    """One approval that a message shows, and how its request ended, where it has."""

    approval: Approval
    outcome: ExecResult | None


def shown_by(conn: Connection, edit: OutboxItem) -> tuple[Shown, ...]:
    """Return what the message of an edit shows, in the order of its prompts.

    A message that no prompt is recorded for shows the edit's own approval; one that is gone is
    left out.
    """
    known = members(conn, edit.target, edit.message) if edit.message else ()
    own = (edit.approval_id,) if edit.approval_id else ()
    found = (get(conn, approval_id) for approval_id in known or own)
    return tuple(
        Shown(approval, None if approval.resolution is None else outcome(conn, approval.id))
        for approval in found
        if approval is not None
    )
