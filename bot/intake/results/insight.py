"""Define the answer of the method about the cost of prompts."""

from bot.intake.results.answer import Answer, Milliseconds, safe
from core.store.views.insight import Insight


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


def _rate(allowed: int, denied: int) -> float | None:
    return allowed / (allowed + denied) if allowed + denied else None
