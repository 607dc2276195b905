"""Count what prompts cost: by day and outcome, by agent, and how long people took.

Each count is over the newest 200,000 questions of a period at most, found by the index on their
time, so that it costs the same however long the past is.
"""

from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Integer, Select, bindparam, func, select

from core.model.approval import ApprovalState
from core.model.identity import AgentId
from core.store.engine.clock import now_ms
from core.store.schema.states import DecisionSource
from core.store.schema.tables import approvals, decisions

MOST_COUNTED = 200_000
_DAY_MS = 86_400_000
_MOST_AGENTS = 20
_SINCE = bindparam("p_since", type_=BigInteger)
_DAY = ((approvals.c.created_ms + bindparam("p_offset", type_=BigInteger)) // _DAY_MS).label("day")
_OLDEST = (
    select(approvals.c.created_ms)
    .order_by(approvals.c.created_ms.desc())
    .limit(1)
    .offset(bindparam("p_skip", type_=Integer))
)
_DAYS = (
    select(_DAY, approvals.c.state, func.count().label("asked"))
    .where(approvals.c.created_ms >= _SINCE)
    .group_by(_DAY, approvals.c.state)
    .order_by(_DAY)
)
_AGENTS = (
    select(approvals.c.agent, approvals.c.state, func.count().label("asked"))
    .where(approvals.c.created_ms >= _SINCE)
    .group_by(approvals.c.agent, approvals.c.state)
)
_TOOK = (decisions.c.at_ms - func.coalesce(approvals.c.delivered_ms, approvals.c.created_ms)).label(
    "took"
)
_ANSWERED: Select[tuple[object, ...]] = (
    select(_DAY, _TOOK)
    .select_from(approvals.join(decisions, decisions.c.approval_id == approvals.c.id))
    .where(approvals.c.created_ms >= _SINCE)
    .where(decisions.c.source == DecisionSource.PERSON.value, approvals.c.behind.is_(None))
)


def _medians(*, by_day: bool) -> Select[tuple[object, ...]]:
    """Read the middle one of the times to answer, of each day or of all."""
    answered = _ANSWERED.subquery()
    parts = [answered.c.day] if by_day else None
    ranked = select(
        answered.c.day,
        answered.c.took,
        func.row_number().over(partition_by=parts, order_by=answered.c.took).label("rank"),
        func.count().over(partition_by=parts).label("answers"),
    ).subquery("ranked")
    middle = ranked.c.rank == (ranked.c.answers + 1) // 2
    return select(ranked.c.day, ranked.c.took, ranked.c.answers).where(middle)


_BY_DAY, _OF_ALL = _medians(by_day=True), _medians(by_day=False)


@dataclass(frozen=True, slots=True)
class Day:
    """The questions of one day, by how they ended; ``day`` counts from 1970 in people's zone."""

    day: int
    allowed: int = 0
    denied: int = 0
    expired: int = 0
    cancelled: int = 0
    pending: int = 0
    median_ms: int | None = None

    @property
    def asked(self) -> int:
        """Return how many there were."""
        return self.allowed + self.denied + self.expired + self.cancelled + self.pending


@dataclass(frozen=True, slots=True)
class OfAgent:
    """The questions of one agent: how many, and how many of them people allowed and denied."""

    agent: AgentId
    asked: int
    allowed: int
    denied: int


@dataclass(frozen=True, slots=True)
class Insight:
    """What prompts cost since ``since_ms``; days without any are left out.

    ``cut``: there were more than are counted, so it begins later than was asked for.
    """

    since_ms: int
    cut: bool
    days: tuple[Day, ...]
    agents: tuple[OfAgent, ...]
    median_ms: int | None
    answers: int


def insight(conn: Connection, days: int, offset_ms: int) -> Insight:
    """Count the last ``days`` days of people whose clocks are ``offset_ms`` before UTC."""
    today = (now_ms(conn) + offset_ms) // _DAY_MS
    wanted = (today - days + 1) * _DAY_MS - offset_ms
    oldest = conn.execute(_OLDEST, {"p_skip": MOST_COUNTED - 1}).scalar()
    since = wanted if oldest is None else max(wanted, oldest)
    span = {"p_since": since, "p_offset": offset_ms}
    middle = conn.execute(_OF_ALL, span).first()
    return Insight(
        since_ms=since,
        cut=since != wanted,
        days=_days(conn, span),
        agents=_agents(conn, since),
        median_ms=None if middle is None else middle.took,
        answers=0 if middle is None else middle.answers,
    )


def _days(conn: Connection, span: dict[str, int]) -> tuple[Day, ...]:
    medians = {row.day: row.took for row in conn.execute(_BY_DAY, span)}
    counted: dict[int, dict[str, int]] = {}
    for row in conn.execute(_DAYS, span):
        counted.setdefault(row.day, {})[ApprovalState(row.state).value] = row.asked
    return tuple(
        Day(day=day, median_ms=medians.get(day), **states)
        for day, states in sorted(counted.items())
    )


def _agents(conn: Connection, since: int) -> tuple[OfAgent, ...]:
    counted: dict[str, dict[str, int]] = {}
    for row in conn.execute(_AGENTS, {"p_since": since}):
        counted.setdefault(row.agent, {})[row.state] = row.asked
    found = [
        OfAgent(
            AgentId(agent),
            sum(states.values()),
            states.get(ApprovalState.ALLOWED.value, 0),
            states.get(ApprovalState.DENIED.value, 0),
        )
        for agent, states in counted.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.asked, one.agent))[:_MOST_AGENTS])
