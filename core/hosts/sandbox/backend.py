"""Say what a sandbox backend is."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from core.hosts.sandbox.filesystem.workspace_check import Check
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.enclosure import Enclosure


class Backend(Protocol):
    """A way to enclose commands; which one is used shows in ``name``."""

    @property
    def name(self) -> str:
        """Return the word of ``sandbox.backend``."""

    def check(self, plan: ExecPlan) -> None:
        """Refuse a plan that could not start inside.

        Raises:
            SpawnError: a command or its folder cannot be seen from inside.
        """

    def names_workspace(self, plan: ExecPlan) -> bool:
        """Return whether a plan may change the folder that its request named."""

    def workspace(self, plan: ExecPlan) -> str | None:
        """Return the folder that a plan may change, ``None`` where there is none."""

    def enclose(
        self, run_id: ApprovalId, plan: ExecPlan, scratch: Path, check: Check | None = None
    ) -> AbstractContextManager[Enclosure]:
        """Yield the enclosure of one run, whose commands share the private folder ``scratch``.

        ``check`` begins with it, where there is a workspace; what it holds cannot be changed.

        Raises:
            HostUnavailable: it does not work here.
            PlanDrift: the workspace is not the folder that was approved.
            SpawnError: this plan cannot run inside.
        """

    def broke(self, done: Finished) -> bool:
        """Return whether a run may have ended because the backend itself failed."""

    async def sweep(self, run_id: ApprovalId | None, done: Finished | None) -> None:
        """End what is left of a run that ended so; without one, of all runs of dead gateways."""

    def close(self) -> None:
        """Give back what the backend holds."""
