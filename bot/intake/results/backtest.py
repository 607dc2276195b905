"""Define the answers of the methods about backtests."""

from pydantic import Field

from bot.intake.results.answer import Answer, safe
from bot.policy_tools.backtest import Change, Difference
from bot.policy_tools.draft_backtest import DraftBacktest

_MOST_LISTED = 50


class BacktestStartedAnswer(Answer):
    """The backtest that began."""

    id: str


class DifferenceAnswer(Answer):
    """Like commands that the draft decides differently, and how often they were asked for."""

    agent: str
    command: str
    changes: list[str]
    times: int
    before: str
    after: str
    why: str

    @classmethod
    def of(cls, one: Difference) -> "DifferenceAnswer":
        """Return a difference; secrets are masked."""
        return cls(
            agent=safe(one.agent),
            command=safe(one.text),
            changes=[change.value for change in one.changes],
            times=one.times,
            before=one.before.decision.word,
            after=one.after.decision.word,
            why=safe(one.after.why),
        )


class BacktestAnswer(Answer):
    """The progress of a backtest; the rest is set once it has ended without a fault.

    ``complete`` is false if its time ran out: then it covers only the newest ``looked``.
    ``differences`` are the most serious ones, and ``more`` counts the others.
    """

    ended: bool
    looked: int
    total: int | None
    fault: str = ""
    complete: bool = True
    judged: int = 0
    unjudged: int = 0
    prompts_before: int = 0
    prompts_after: int = 0
    newly_allowed: int = 0
    allowed_though_denied: int = 0
    differences: list[DifferenceAnswer] = Field(default=[])
    more: int = 0

    @classmethod
    def of(cls, backtest: DraftBacktest) -> "BacktestAnswer":
        """Return the current state of a backtest."""
        found = backtest.found
        at = cls(
            ended=backtest.ended,
            looked=backtest.looked,
            total=backtest.total,
            fault=safe(backtest.fault),
        )
        if found is None:
            return at
        first = found.differences[:_MOST_LISTED]
        more: dict[str, object] = {
            "complete": not backtest.cut,
            "judged": found.judged,
            "unjudged": sum(one.times for one in found.unjudged),
            "prompts_before": found.prompts_before,
            "prompts_after": found.prompts_after,
            "newly_allowed": found.count(Change.RUNS),
            "allowed_though_denied": found.count(Change.RUNS_DENIED),
            "differences": [DifferenceAnswer.of(one) for one in first],
            "more": len(found.differences) - len(first),
        }
        return at.model_copy(update=more)
