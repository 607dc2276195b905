"""Enforce the bounds on what waits for people, inside the transaction that would add to it.

Counted from the pending rows by an index that covers them, so a restart forgets nothing and no
ending has to be subtracted anywhere.
"""

from sqlalchemy import Connection, bindparam, case, func, select

from core.model.pending_limits import Crowded, PendingBound, PendingLimits
from core.store.schema.records import ApprovalDraft
from core.store.schema.tables import IS_PENDING, approvals, clock

# The one row that every database has: whoever adds a question waits for whoever is adding one, so
# that two never both take the last place. SQLite has one writer, and neither needs nor has such a
# lock.
_ONE_AT_A_TIME = select(clock.c.id).where(clock.c.id == 1).with_for_update()
_IS_OWN = approvals.c.agent == bindparam("p_agent")
_BYTES = approvals.c.input_bytes
_WAITING = select(
    func.count().label("questions"),
    func.coalesce(func.sum(_BYTES), 0).label("input"),
    func.coalesce(func.sum(case((_IS_OWN, 1), else_=0)), 0).label("own_questions"),
    func.coalesce(func.sum(case((_IS_OWN, _BYTES), else_=0)), 0).label("own_input"),
).where(IS_PENDING)


class TooMany(Exception):
    """A question was not recorded, because too much waits already; ``crowded`` says what."""

    def __init__(self, crowded: Crowded) -> None:
        super().__init__(crowded.sentence)
        self.crowded = crowded


def input_bytes(draft: ApprovalDraft) -> int:
    """Return how much standard input a question holds while it waits."""
    return len(draft.plan.stdio.stdin or b"")


def require_room(conn: Connection, draft: ApprovalDraft, limits: PendingLimits) -> None:
    """Keep the last places for those who come first.

    Raises:
        TooMany: one more question, or its standard input, would be over a limit.
    """
    conn.execute(_ONE_AT_A_TIME)
    waiting = conn.execute(_WAITING, {"p_agent": draft.plan.agent}).one()
    brings = input_bytes(draft)
    for bound, limit, found, more in (
        (PendingBound.PER_AGENT, limits.per_agent, waiting.own_questions, 1),
        (PendingBound.TOTAL, limits.total, waiting.questions, 1),
        (PendingBound.INPUT_PER_AGENT, limits.input_bytes_per_agent, waiting.own_input, brings),
        (PendingBound.INPUT, limits.input_bytes, waiting.input, brings),
    ):
        if more and found + more > limit:
            raise TooMany(Crowded(bound, limit, int(found), more))
