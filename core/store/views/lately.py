"""Return what happened last, so that the journal can be compared with it."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, bindparam, select

from core.model.identity import Actor, ApprovalId
from core.store.schema.people_tables import votes
from core.store.schema.states import RowState
from core.store.schema.tables import approvals, decisions, runs

_RECORDED = (RowState.DONE.value, RowState.FAILED.value, RowState.UNKNOWN.value)
"""The ends that are stored before they are recorded, or at the same time."""
_SINCE = bindparam("p_since", type_=BigInteger)
_UNTIL = bindparam("p_until", type_=BigInteger)
_ASKED = select(approvals.c.id).where(approvals.c.created_ms.between(_SINCE, _UNTIL))
_DECIDED = select(decisions.c.approval_id).where(decisions.c.at_ms.between(_SINCE, _UNTIL))
_LONGEST_MS = 7 * 86_400_000
"""More than the longest between a request and the end of its run: a day to answer, one to run."""
_ENDED = select(runs.c.id).where(
    runs.c.created_ms >= bindparam("p_oldest", type_=BigInteger),
    runs.c.ended_ms.between(_SINCE, _UNTIL),
    runs.c.state.in_(_RECORDED),
)
_VOTED = select(votes.c.approval_id, votes.c.channel, votes.c.account).where(
    votes.c.at_ms.between(_SINCE, _UNTIL),
    votes.c.approval_id.in_(
        select(approvals.c.id).where(
            approvals.c.created_ms.between(bindparam("p_oldest", type_=BigInteger), _UNTIL)
        )
    ),
)
_KNOWN = select(runs.c.id).where(runs.c.id.in_(bindparam("p_ids", expanding=True)))


@dataclass(frozen=True, slots=True)
class Lately:
    """What was asked and decided, and which runs ended, within some time.

    ``voted``: of what several people must allow, who allowed it; that may have decided it.
    """

    asked: frozenset[ApprovalId]
    decided: frozenset[ApprovalId]
    ended: frozenset[ApprovalId]
    voted: frozenset[tuple[ApprovalId, str]]


def lately(conn: Connection, since_ms: int, until_ms: int) -> Lately:
    """Return what happened between two epoch ms."""
    since = {"p_since": since_ms, "p_until": until_ms}
    oldest = since | {"p_oldest": since_ms - _LONGEST_MS}
    asked, decided, ended = (
        frozenset(map(ApprovalId, conn.execute(one, values).scalars()))
        for one, values in ((_ASKED, since), (_DECIDED, since), (_ENDED, oldest))
    )
    voted = frozenset(
        (ApprovalId(row.approval_id), Actor(row.channel, row.account).ref)
        for row in conn.execute(_VOTED, oldest)
    )
    return Lately(asked, decided, ended, voted)


def never_begun(conn: Connection, ids: Collection[str]) -> tuple[ApprovalId, ...]:
    """Return those of these runs that are not in the store, sorted."""
    known = set(conn.execute(_KNOWN, {"p_ids": list(ids)}).scalars()) if ids else set()
    return tuple(map(ApprovalId, sorted(set(ids) - known)))
