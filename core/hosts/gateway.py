"""Run plans on the machine of the gateway itself."""

from collections.abc import AsyncIterator
from typing import Protocol

from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.policy import ExecHost
from core.model.result import Finished, LiveOutput, OutputChunk
from core.ports import RunWatcher


class PlanRunner(Protocol):
    """What runs plans: a runner, or one that hands them to the companion."""

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Run a plan to its end."""

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command; ``False`` if it does not run here."""

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if that is not known here."""

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints, until its end."""


class GatewayHost:
    """The execution host ``gateway``: no sandbox, the gateway's own user."""

    def __init__(self, runner: PlanRunner) -> None:
        self._runner = runner

    @property
    def place(self) -> str:
        """Return the word that events show."""
        return ExecHost.GATEWAY.value

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold nothing: here policy and people decide, who see the folder."""
        del plan, requester
        return ""

    async def check(self, plan: ExecPlan) -> None:
        """Let every plan be asked about: the planner has looked at all that it needs."""

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Verify the plan, claim, spawn and wait.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
        """
        return await self._runner.run(run_id, plan, watcher)

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command (TERM, grace, KILL); ``False`` if it does not run here."""
        return await self._runner.cancel(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        return await self._runner.tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from its start on, up to the cap of what is kept, until its end.

        Nothing is yielded for a run that is not here. Any number may watch; none holds it up.
        """
        return self._runner.watch(run_id)
