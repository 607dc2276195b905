"""Explain what policy would do, and try a draft on the past."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.explain.explain import Explaining
from bot.explain.explain_one import to_json
from bot.explain.session_context import load_session_context
from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.runs import FOLLOWS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import AgentParams, ExplainParams, Name, NoParams, Params
from bot.intake.results.answer import Answer, safe
from bot.intake.results.rules import (
    ExplainAnswer,
    RuleAnswer,
    RulesAnswer,
    SkillsAnswer,
)
from bot.policy_tools.backtest import Change, Difference
from bot.policy_tools.draft_backtest import DraftBacktest, DraftBacktests
from bot.policy_tools.past_commands import span_ms
from core.errors import BadRequest, NotFound
from core.gate.gate import Gate
from core.model.access import Scope

_LONGEST = span_ms("30d")
_MOST_LISTED = 50


@dataclass(frozen=True, slots=True)
class PolicyMethods(Group):
    """The methods about policy, which only read."""

    gate: Gate

    @handles(
        "skills.bins",
        READS,
        "List the programs that count as listed where `autoAllowSkills` is on.",
    )
    async def skills(self, _params: NoParams, _caller: Caller) -> SkillsAnswer:
        """List the programs of skills that are trusted where autoAllowSkills is on (S1)."""
        return SkillsAnswer.of(self.gate.rulebook.compiled.skills)

    @handles(
        "policy.rules",
        READS,
        "List the rules of the configuration that are in effect.",
        note="with `agent`, those of that agent and those of all",
        filters=True,
    )
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

    @handles(
        "policy.explain",
        FOLLOWS,
        "Evaluate a command as the gateway would now; nothing is run or stored.",
        note="a node is asked for its plan and verdict",
    )
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


@dataclass(frozen=True, slots=True)
class BacktestMethods(Group):
    """The methods about backtests; each caller has its own."""

    backtests: DraftBacktests

    @handles(
        "policy.backtest.start",
        READS,
        "Try a draft of exec-approvals.json on past commands; nothing runs.",
        of_all=True,
    )
    async def start(self, params: BacktestParams, caller: Caller) -> BacktestStartedAnswer:
        """Start a backtest.

        Raises:
            BadRequest: the span is invalid, or a backtest is under way.
        """
        if span_ms(params.since) > _LONGEST:
            raise BadRequest("A backtest looks back 30 days at most.")
        return BacktestStartedAnswer(id=self.backtests.start(caller.ref, params.file, params.since))

    @handles("policy.backtest.get", READS, "Report a backtest's progress and result.", of_all=True)
    async def get(self, params: BacktestRefParams, caller: Caller) -> BacktestAnswer:
        """Return a backtest.

        Raises:
            NotFound: the caller has none of this id.
        """
        look = self.backtests.of(params.id, caller.ref)
        if look is None:
            raise NotFound("No such backtest. The last ones are kept until the gateway stops.")
        return BacktestAnswer.of(look)
