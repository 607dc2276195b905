"""Take an answer, and hand out in the same transaction the edits that show what it decided."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import Connection, bindparam, exists, select

from core.store import approvals, outbox
from core.store.runs.outcomes import outcome
from core.store.schema.records import Answer, OutboxItem, Shown
from core.store.schema.states import OutboxKind
from core.store.schema.tables import outbox as items

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
    if answer is None:
        return None
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
    shows = (Shown(approval, outcome(conn, approval.id)),)
    return tuple(one if one.message in grouped else replace(one, shows=shows) for one in edits)
