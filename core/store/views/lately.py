"""Return what happened last and belongs in one journal, so that it can be compared with that."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Text, bindparam, or_, select

from core.model.identity import Actor, ApprovalId
from core.store.schema.people_tables import votes
from core.store.schema.states import RowState
from core.store.schema.tables import approvals, decisions, runs

_RECORDED = (RowState.DONE.value, RowState.FAILED.value, RowState.UNKNOWN.value)
"""The ends that are stored before they are recorded, or at the same time."""
_SINCE = bindparam("p_since", type_=BigInteger)
_NEAR = bindparam("p_near", type_=BigInteger)
_UNTIL = bindparam("p_until", type_=BigInteger)
_OLDEST = bindparam("p_oldest", type_=BigInteger)
_LONGEST_MS = 7 * 86_400_000
"""More than the longest between a request and the end of its run: a day to answer, one to run."""
_IDS = bindparam("p_ids", type_=Text, expanding=True)


def _belongs(journal: Column[str | None], at_ms: Column[int]) -> ColumnElement[bool]:
    """Match what the journal has to record since a time; for a while, also what it may have to."""
    own = journal == bindparam("p_journal", type_=Text)
    return (at_ms >= _SINCE) & or_(own, journal.is_(None) & at_ms.between(_NEAR, _UNTIL))


def _may_belong(journal: Column[str | None]) -> ColumnElement[bool]:
    return or_(journal == bindparam("p_journal", type_=Text), journal.is_(None))


_ASKED = select(approvals.c.id).where(_belongs(approvals.c.journal, approvals.c.created_ms))
_DECIDED = select(decisions.c.approval_id).where(_belongs(decisions.c.journal, decisions.c.at_ms))
_ENDED = select(runs.c.id).where(
    runs.c.created_ms >= _OLDEST,
    _belongs(runs.c.journal, runs.c.ended_ms),
    runs.c.state.in_(_RECORDED),
)
_VOTED = select(votes.c.approval_id, votes.c.channel, votes.c.account).where(
    _belongs(votes.c.journal, votes.c.at_ms),
    votes.c.approval_id.in_(select(approvals.c.id).where(approvals.c.created_ms >= _OLDEST)),
)
_ASKED_OF = select(approvals.c.id).where(approvals.c.id.in_(_IDS), _may_belong(approvals.c.journal))
_DECIDED_OF = select(decisions.c.approval_id).where(
    decisions.c.approval_id.in_(_IDS), _may_belong(decisions.c.journal)
)
_KNOWN = select(runs.c.id).where(runs.c.id.in_(_IDS))


@dataclass(frozen=True, slots=True)
class Lately:
    """What was asked and decided, and which runs ended, within some time.

    ``voted``: of what several people must allow, who allowed it; that may have decided it.
    """

    asked: frozenset[ApprovalId]
    decided: frozenset[ApprovalId]
    ended: frozenset[ApprovalId]
    voted: frozenset[tuple[ApprovalId, str]]


@dataclass(frozen=True, slots=True)
class Span:
    """Times in epoch ms: since when what belongs in a journal may be missing from it.

    What an older version stored may belong in any journal: it counts from ``near_ms`` to
    ``until_ms``.
    """

    since_ms: int
    near_ms: int
    until_ms: int


def lately(conn: Connection, journal: str, span: Span, waiting: Collection[ApprovalId]) -> Lately:
    """Return what was stored and belongs in the journal with this id.

    Of ``waiting``, whatever the time.
    """
    times = {"p_since": span.since_ms, "p_near": span.near_ms, "p_until": span.until_ms}
    oldest = times | {"p_oldest": span.since_ms - _LONGEST_MS}
    named = {"p_ids": list(waiting)}
    asked, asked_of, decided, decided_of, ended = (
        frozenset(map(ApprovalId, conn.execute(one, values | {"p_journal": journal}).scalars()))
        for one, values in (
            (_ASKED, times),
            (_ASKED_OF, named),
            (_DECIDED, times),
            (_DECIDED_OF, named),
            (_ENDED, oldest),
        )
    )
    voted = frozenset(
        (ApprovalId(row.approval_id), Actor(row.channel, row.account).ref)
        for row in conn.execute(_VOTED, oldest | {"p_journal": journal})
    )
    return Lately(asked | asked_of, decided | decided_of, ended, voted)


def never_begun(conn: Connection, ids: Collection[str]) -> tuple[ApprovalId, ...]:
    """Return those of these runs that are not in the store, sorted."""
    known = set(conn.execute(_KNOWN, {"p_ids": list(ids)}).scalars()) if ids else set()
    return tuple(map(ApprovalId, sorted(set(ids) - known)))
