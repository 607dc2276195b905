"""Take an answer, and hand out in the same transaction the edits that show what it decided."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlalchemy import Connection, bindparam, exists, select

from core.model.approval import ApprovalState
from core.model.identity import Actor
from core.store import approvals
from core.store.runs.outcomes import outcome
from core.store.schema.records import ShownApproval, StoredAnswer
from core.store.schema.states import OutboxKind
from core.store.schema.tables import outbox as items

T = TypeVar("T")
_other = items.alias("other")
_IN_GROUPS = select(items.c.message).where(
    items.c.approval_id == bindparam("p_id"),
    items.c.kind == OutboxKind.PROMPT.value,
    exists().where(
        _other.c.message == items.c.message,
        _other.c.channel == items.c.channel,
        _other.c.approval_id != items.c.approval_id,
    ),
)


def answer(conn: Connection, ballot: approvals.Ballot) -> StoredAnswer | None:
    """Take an answer as ``approvals.answer`` does; its edits have what they show."""
    made = approvals.answer(conn, ballot)
    return None if made is None else _with_contents(conn, made)


@dataclass(frozen=True, slots=True)
class FindAndAnswer(Generic[T]):
    """Find what a reference means, and answer it where ``authorise`` makes a ballot of it.

    All in one transaction. ``authorise`` only judges what was found; what it returns in place of a
    ballot is returned.
    """

    authorise: Callable[[approvals.ResolvedReference], approvals.Ballot | T]

    def __call__(self, conn: Connection, ref: str, actor: Actor) -> StoredAnswer | T:
        """Run it."""
        meant = approvals.find_for(conn, ref, actor)
        ballot = self.authorise(meant)
        if not isinstance(ballot, approvals.Ballot):
            return ballot
        (approval,) = meant.approvals
        return _with_contents(conn, approvals.answer_known(conn, ballot, approval, meant.known))


def _with_contents(conn: Connection, made: StoredAnswer) -> StoredAnswer:
    """Give each edit what it has to show.

    That of a message with several prompts is read when it is sent, and so is that of an identical
    question, which ended with this one.
    """
    if not made.edits:
        return made
    approval = made.approval
    grouped = set(conn.execute(_IN_GROUPS, {"p_id": approval.id}).scalars())
    allowed = approval.resolution and approval.resolution.state is ApprovalState.ALLOWED
    # What was allowed just now waits in the queue of runs.
    shows = (ShownApproval(approval, None if allowed else outcome(conn, approval.id)),)
    edits = tuple(
        replace(one, shows=shows)
        if one.approval_id == approval.id and one.message not in grouped
        else one
        for one in made.edits
    )
    return replace(made, edits=edits)
