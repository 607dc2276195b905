"""Run plans on the machine of the gateway itself."""

from collections.abc import AsyncIterator

from core.errors import HostUnavailable
from core.isolation.agents.agents import Agents
from core.isolation.executors import Executors
from core.isolation.terminal.terminals import Terminals
from core.model.command import AgentPart, ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.policy import ExecHost
from core.model.result import Finished, LiveOutput, OutputChunk
from core.ports import PlanRunner, RunStart

_OFF = (
    "it is bound to the user `{}`, and execution.runAsUnixUser is off, so nothing runs as another "
    "user; request it again"
)
_NO_AGENTS = "agents run as other users only: set execution.runAsUnixUser to true"
_NO_TERMINALS = "terminals are opened as other users only: set execution.runAsUnixUser to true"


class GatewayHost:
    """The execution host ``gateway``: no sandbox, the gateway's own user, or the plan's.

    A plan that is bound to a user runs as that user or not at all.
    """

    def __init__(
        self,
        runner: PlanRunner,
        executors: Executors | None = None,
        agents: Agents | None = None,
        terminals: Terminals | None = None,
    ) -> None:
        self._own = runner
        self._executors = executors
        self._agents = agents
        self._terminals = terminals

    @property
    def place(self) -> str:
        """Return the word that events show."""
        return ExecHost.GATEWAY.value

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold nothing: here, policy and people decide, and both see the folder."""
        del plan, requester
        return ""

    async def check(self, plan: ExecPlan) -> None:
        """Refuse a plan for a user as whom nothing can run; the planner has checked the rest.

        Raises:
            HostUnavailable: commands cannot run as other users here.
        """
        if plan.part is not None:
            await self._of_part(plan.part).check(plan)
        elif plan.run_as:
            await self._others(plan).pool.check(plan.run_as)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Verify the plan, claim, spawn and wait.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
            HostUnavailable: nothing can run as the plan's user.
        """
        if plan.part is not None:
            return await self._of_part(plan.part).run(run_id, plan, start)
        runner = self._others(plan).runner(plan.run_as) if plan.run_as else self._own
        return await runner.run(run_id, plan, start)

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command (TERM, grace, KILL); ``False`` if it does not run here."""
        return await self._with(run_id).cancel(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        return await self._with(run_id).tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from start to end, up to the cap on what is kept.

        Nothing is yielded for a run that is not here. Any number may watch; none delays it.
        """
        return self._with(run_id).watch(run_id)

    def _others(self, plan: ExecPlan) -> Executors:
        if self._executors is None:
            raise HostUnavailable(_OFF.format(plan.run_as))
        return self._executors

    def _of_part(self, part: AgentPart) -> Agents | Terminals:
        found = self._terminals if part.opens_terminal else self._agents
        if found is None:
            raise HostUnavailable(_NO_TERMINALS if part.opens_terminal else _NO_AGENTS)
        return found

    def _with(self, run_id: ApprovalId) -> PlanRunner:
        if self._agents is not None and self._agents.has(run_id):
            return self._agents
        if self._terminals is not None and self._terminals.has(run_id):
            return self._terminals
        other = None if self._executors is None else self._executors.running(run_id)
        return self._own if other is None else other
