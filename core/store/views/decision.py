"""Take an answer, and hand out in the same transaction the edits that show what it decided."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlalchemy import Connection, bindparam, exists, select

from core.model.approval import ApprovalState
from core.model.identity import Actor
from core.store import approvals, outbox
from core.store.runs.outcomes import outcome
from core.store.schema.records import Answer, OutboxItem, Shown
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


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of an answer, and the edits that its caller has to send; nobody else does."""

    answer: Answer
    edits: tuple[OutboxItem, ...] = ()


def answer_and_claim(
    conn: Connection, channels: Collection[str], ballot: approvals.Ballot
) -> Decided | None:
    """Take an answer as ``approvals.answer`` does, and claim its edits at these channels.

    A process that dies before it has sent them leaves claims that end like any other.
    """
    answer = approvals.answer(conn, ballot)
    return None if answer is None else _claimed(conn, channels, answer)


@dataclass(frozen=True, slots=True)
class FindAndAnswer(Generic[T]):
    """Find what a reference means, and answer it where ``authorise`` makes a ballot of it.

    All in one transaction. ``authorise`` only judges what was found; what it returns in place of a
    ballot is returned.
    """

    authorise: Callable[[approvals.Meant], approvals.Ballot | T]

    def __call__(
        self, conn: Connection, channels: Collection[str], ref: str, actor: Actor
    ) -> Decided | T:
        """Run it; ``channels`` as of ``answer_and_claim``."""
        meant = approvals.find_for(conn, ref, actor)
        ballot = self.authorise(meant)
        if not isinstance(ballot, approvals.Ballot):
            return ballot
        (approval,) = meant.approvals
        answer = approvals.answer_known(conn, ballot, approval, meant.known)
        return _claimed(conn, channels, answer)


def _claimed(conn: Connection, channels: Collection[str], answer: Answer) -> Decided:
    if not (channels and answer.won):
        return Decided(answer)
    edits = outbox.claim_edits(conn, answer.approval.id, channels)
    return Decided(answer, _with_contents(conn, answer, edits))


def _with_contents(
    conn: Connection, answer: Answer, edits: tuple[OutboxItem, ...]
) -> tuple[OutboxItem, ...]:
    """Give each edit what it has to show; that of a message with several prompts is read later."""
    if not edits:
        return ()
    approval = answer.approval
    grouped = set(conn.execute(_IN_GROUPS, {"p_id": approval.id}).scalars())
    allowed = (
        answer.approval.resolution and answer.approval.resolution.state is ApprovalState.ALLOWED
    )
    # What was allowed just now waits in the queue of runs.
    shows = (Shown(approval, None if allowed else outcome(conn, approval.id)),)
    return tuple(one if one.message in grouped else replace(one, shows=shows) for one in edits)
