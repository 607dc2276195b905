"""Explain what policy would do, and try a draft on the past."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.explain.explain import Explaining
from bot.explain.explain_one import to_json
from bot.explain.session_context import load_session_context
from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.runs import FOLLOWS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import AgentParams, ExplainParams, Name, NoParams, Params
from bot.intake.results.backtest import BacktestAnswer, BacktestStartedAnswer
from bot.intake.results.rules import (
    ExplainAnswer,
    RuleAnswer,
    RulesAnswer,
    SkillsAnswer,
)
from bot.policy_tools.draft_backtest import DraftBacktests
from bot.policy_tools.past_commands import span_ms
from core.errors import BadRequest, NotFound
from core.gate.gate import Gate
from core.model.access import Scope

_LONGEST = span_ms("30d")


@dataclass(frozen=True, slots=True)
class PolicyMethods:
    """The methods about policy, which only read."""

    gate: Gate

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="skills.bins",
                params=NoParams,
                scopes=READS,
                handler=self.skills,
                summary="List the programs that count as listed where `autoAllowSkills` is on.",
                result=SkillsAnswer,
            ),
            Method(
                name="policy.explain",
                params=ExplainParams,
                scopes=FOLLOWS,
                handler=self.explain,
                summary="Evaluate a command as the gateway would now; nothing is run or stored.",
                note="a node is asked for its plan and verdict",
                result=ExplainAnswer,
            ),
            Method(
                name="policy.rules",
                params=AgentParams,
                scopes=READS,
                handler=self.rules,
                summary="List the rules of the configuration that are in effect.",
                note="with `agent`, those of that agent and those of all",
                result=RulesAnswer,
                filters=True,
            ),
        )

    async def skills(self, _params: NoParams, _caller: Caller) -> SkillsAnswer:
        """List the programs of skills that are trusted where autoAllowSkills is on (S1)."""
        return SkillsAnswer.of(self.gate.rulebook.compiled.skills)

    async def rules(self, params: AgentParams, caller: Caller) -> RulesAnswer:
        """List rules, those of single agents first; none of agents that the caller does not see."""
        compiled = self.gate.rulebook.compiled
        shared = {rule.place for rule in compiled.everyone.rules.rules}
        own = [
            RuleAnswer.of(rule, agent)
            for agent, provisions in compiled.agents.items()
            if params.agent in {None, agent} and caller.sees(agent)
            for rule in provisions.rules.rules
            if rule.place not in shared
        ]
        every = [RuleAnswer.of(rule, None) for rule in compiled.everyone.rules.rules]
        return RulesAnswer(rules=[*own, *every])

    async def explain(self, params: ExplainParams, caller: Caller) -> ExplainAnswer:
        """Judge a command as ``Gate.submit`` would, on the same thread, without running it.

        The grants and settings of the session apply, and so do the grants of the task.
        """
        gate, request = self.gate, params.request(caller.requester)
        context = await load_session_context(gate.store, request, gate.rulebook.idle_ms)
        names = caller.may(Scope.READ)  # as in grants.list
        explaining = Explaining(
            gate.rulebook, gate.planner, gate.broker.asking, names, gate.execution.withheld
        )
        explained = await explaining.explain_anywhere(request, context, gate.nodes)
        return ExplainAnswer.model_validate(to_json(explained))


class BacktestParams(Params):
    """``policy.backtest.start``: the draft, and how far back to look."""

    file: dict[str, object] = Field(description="the content of exec-approvals.json to try")
    since: Annotated[str, Field(max_length=8)] = Field(
        default="30d", description="how far back, 30 days at most: `30d`, `12h`, `2w`"
    )


class BacktestRefParams(Params):
    """``policy.backtest.get``: a backtest that was started."""

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
                summary="Report a backtest's progress and result.",
                result=BacktestAnswer,
                of_all=True,
            ),
        )

    async def start(self, params: BacktestParams, caller: Caller) -> BacktestStartedAnswer:
        """Start a backtest.

        Raises:
            BadRequest: the span is invalid, or a backtest is under way.
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
