"""Run plans on the machine of the gateway itself."""

from collections.abc import AsyncIterator

from core.errors import HostUnavailable
from core.isolation.executors import Executors
from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.policy import ExecHost
from core.model.result import Finished, LiveOutput, OutputChunk
from core.ports import RunWatcher
from core.runner.runner import Runner

_OFF = (
    "it is bound to the user `{}`, and execution.runAsUnixUser is off, so nothing runs as another "
    "user; request it again"
)


class GatewayHost:
    """The execution host ``gateway``: no sandbox, the gateway's own user, or the plan's.

    A plan that is bound to a user runs as that user or not at all.
    """

    def __init__(self, runner: Runner, executors: Executors | None = None) -> None:
        self._own = runner
        self._executors = executors

    @property
    def place(self) -> str:
        """Return the word that events show."""
        return ExecHost.GATEWAY.value

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold nothing: here policy and people decide, who see the folder."""
        del plan, requester
        return ""

    async def check(self, plan: ExecPlan) -> None:
        """Refuse a plan for a user that nothing can run as; the rest the planner has looked at.

        Raises:
            HostUnavailable: commands run as no other user here.
        """
        if plan.run_as:
            await self._others(plan).pool.check(plan.run_as)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Verify the plan, claim, spawn and wait.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
            HostUnavailable: nothing can run as the plan's user.
        """
        runner = self._others(plan).runner(plan.run_as) if plan.run_as else self._own
        return await runner.run(run_id, plan, watcher)

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command (TERM, grace, KILL); ``False`` if it does not run here."""
        return await self._with(run_id).cancel(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        return await self._with(run_id).tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from its start on, up to the cap of what is kept, until its end.

        Nothing is yielded for a run that is not here. Any number may watch; none holds it up.
        """
        return self._with(run_id).watch(run_id)

    def _others(self, plan: ExecPlan) -> Executors:
        if self._executors is None:
            raise HostUnavailable(_OFF.format(plan.run_as))
        return self._executors

    def _with(self, run_id: ApprovalId) -> Runner:
        other = None if self._executors is None else self._executors.running(run_id)
        return self._own if other is None else other
