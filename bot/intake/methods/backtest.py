"""Try a draft of exec-approvals.json on the commands of the past: started, then looked at."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import Name, Params
from bot.intake.results.backtest import BacktestAnswer, BacktestStartedAnswer
from bot.policy_tools.draft_backtest import DraftBacktests
from bot.policy_tools.past_commands import span_ms
from core.errors import BadRequest, NotFound

_LONGEST = span_ms("30d")


class BacktestParams(Params):
    """``policy.backtest.start``: the draft, and how far back to look."""

    file: dict[str, object] = Field(description="the content of exec-approvals.json to try")
    since: Annotated[str, Field(max_length=8)] = Field(
        default="30d", description="how far back, 30 days at most: `30d`, `12h`, `2w`"
    )


class BacktestRefParams(Params):
    """``policy.backtest.get``: one that was started."""

    id: Name = Field(description="its id")


@dataclass(frozen=True, slots=True)
class BacktestMethods:
    """The methods about backtests; each caller has its own."""

    backtests: DraftBacktests

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="policy.backtest.start",
                params=BacktestParams,
                scopes=READS,
                handler=self.start,
                summary="Try a draft of exec-approvals.json on past commands; nothing runs.",
                result=BacktestStartedAnswer,
                of_all=True,
            ),
            Method(
                name="policy.backtest.get",
                params=BacktestRefParams,
                scopes=READS,
                handler=self.get,
                summary="Report how far a backtest is, and what it found.",
                result=BacktestAnswer,
                of_all=True,
            ),
        )

    async def start(self, params: BacktestParams, caller: Caller) -> BacktestStartedAnswer:
        """Begin a backtest.

        Raises:
            BadRequest: the span is none, or one is under way.
        """
        if span_ms(params.since) > _LONGEST:
            raise BadRequest("A backtest looks back 30 days at most.")
        return BacktestStartedAnswer(id=self.backtests.start(caller.ref, params.file, params.since))

    async def get(self, params: BacktestRefParams, caller: Caller) -> BacktestAnswer:
        """Return a backtest.

        Raises:
            NotFound: the caller has none of this id.
        """
        look = self.backtests.of(params.id, caller.ref)
        if look is None:
            raise NotFound("No such backtest. The last ones are kept until the gateway stops.")
        return BacktestAnswer.of(look)
