"""Describe the gateway, and explain what it would do."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.explain.explain import Explaining
from bot.explain.explain_one import to_json
from bot.explain.session_context import load_session_context
from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.runs import FOLLOWS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import ExplainParams, NoParams
from bot.intake.results.gateway import HealthAnswer
from bot.intake.results.rules import ExplainAnswer, SkillsAnswer
from core.gate import Gate
from core.model.access import Scope


@dataclass(frozen=True, slots=True)
class OutlookMethods:
    """The methods that look and change nothing. ``health`` answers ``health.get``."""

    gate: Gate
    health: Callable[[], Awaitable[dict[str, object]]]

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="health.get",
                params=NoParams,
                scopes=READS,
                handler=self.get_health,
                summary="Report the gateway's health.",
                result=HealthAnswer,
            ),
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
        )

    async def get_health(self, _params: NoParams, _caller: Caller) -> HealthAnswer:
        """Return the gateway's health."""
        return HealthAnswer.model_validate(await self.health())

    async def skills(self, _params: NoParams, _caller: Caller) -> SkillsAnswer:
        """List the programs of skills that are trusted where autoAllowSkills is on (S1)."""
        return SkillsAnswer.of(self.gate.rulebook.compiled.skills)

    async def explain(self, params: ExplainParams, caller: Caller) -> ExplainAnswer:
        """Judge a command as ``Gate.submit`` would, on the same thread; nothing comes of it.

        The grants and settings of the session count, and the grants of the task.
        """
        gate, request = self.gate, params.request(caller.requester)
        context = await load_session_context(gate.store, request, gate.rulebook.idle_ms)
        names = caller.may(Scope.READ)  # as for grants.list
        explaining = Explaining(
            gate.rulebook, gate.planner, gate.broker.asking, names, gate.execution.withheld
        )
        explained = await explaining.explain_anywhere(request, context, gate.nodes)
        return ExplainAnswer.model_validate(to_json(explained))
