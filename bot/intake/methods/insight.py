"""Return what prompts cost."""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams
from bot.intake.results.answer import Answer, Milliseconds, safe
from core.store import Store
from core.store.views.insight import Insight, insight

DAYS = 30
_GOOD_S = 60.0


class DayAnswer(Answer):
    """The prompts of one day by how they ended; `day` counts from 1970-01-01."""

    day: int
    asked: int
    allowed: int
    denied: int
    expired: int
    cancelled: int
    pending: int
    median_ms: int | None


class AgentAnswer(Answer):
    """The prompts of one agent; `allowRate` is the share allowed of those answered."""

    agent: str
    asked: int
    allowed: int
    denied: int
    allow_rate: float | None


class InsightAnswer(Answer):
    """What prompts cost; `cut` is true if there were more than are counted."""

    since_ms: Milliseconds
    cut: bool
    asked: int
    answers: int
    median_ms: int | None
    days: list[DayAnswer]
    agents: list[AgentAnswer]

    @classmethod
    def of(cls, found: Insight) -> "InsightAnswer":
        """Return the counts."""
        days = [
            DayAnswer(
                day=one.day,
                asked=one.asked,
                allowed=one.allowed,
                denied=one.denied,
                expired=one.expired,
                cancelled=one.cancelled,
                pending=one.pending,
                median_ms=one.median_ms,
            )
            for one in found.days
        ]
        agents = [
            AgentAnswer(
                agent=safe(one.agent),
                asked=one.asked,
                allowed=one.allowed,
                denied=one.denied,
                allow_rate=_rate(one.allowed, one.denied),
            )
            for one in found.agents
        ]
        return cls(
            since_ms=found.since_ms,
            cut=found.cut,
            asked=sum(one.asked for one in found.days),
            answers=found.answers,
            median_ms=found.median_ms,
            days=days,
            agents=agents,
        )


@dataclass(slots=True)
class InsightMethods(Group):
    """The method about what prompts cost."""

    store: Store
    zone: tzinfo = UTC
    _known: Insight | None = None
    _until: float = 0.0
    _counting: asyncio.Task[Insight] | None = field(default=None)

    @handles(
        "insight.get",
        READS,
        "Count the prompts of the last 30 days by day and outcome, and by agent.",
        note="what was counted up to a minute ago, at once",
        of_all=True,
    )
    async def get(self, _params: NoParams, _caller: Caller) -> InsightAnswer:
        """Return what was counted last; only the first call waits for the count."""
        if time.monotonic() >= self._until and self._counting is None:
            self._counting = asyncio.create_task(self._count())
        if self._known is None and self._counting is not None:
            return InsightAnswer.of(await asyncio.shield(self._counting))
        assert self._known is not None  # noqa: S101 - narrowed above
        return InsightAnswer.of(self._known)

    async def _count(self) -> Insight:
        try:
            offset = datetime.now(self.zone).utcoffset()
            offset_ms = 0 if offset is None else round(offset.total_seconds() * 1000)
            self._known = await self.store.read_beside(insight, DAYS, offset_ms)
            self._until = time.monotonic() + _GOOD_S
            return self._known
        finally:
            self._counting = None


def _rate(allowed: int, denied: int) -> float | None:
    return allowed / (allowed + denied) if allowed + denied else None
