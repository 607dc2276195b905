"""Run sandboxed plans as the users that they are bound to: each user has its own sandbox."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import HostUnavailable
from core.hosts.sandbox.host import SandboxHost
from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.result import Finished, LiveOutput, OutputChunk
from core.ports import RunStart
from core.runner.supervisor.protocol import Private

_OFF = (
    "it is bound to the user `{}`, and nothing runs as another user now (execution.runAsUnixUser, "
    "or a sandbox of containers); request it again"
)


class UserFolders:
    """The private folders of one user's runs; an executor of the user makes and removes them.

    ``base`` is the folder that they are in, ``most_bytes`` what each may hold.
    """

    def __init__(self, base: Path, most_bytes: int) -> None:
        self._base = base
        self._most_bytes = most_bytes
        self._holds: dict[Path, str] = {}

    async def clear(self) -> None:
        """Remove nothing: what a dead executor left goes with its processes."""

    async def settle(self) -> None:
        """Wait for nothing: an executor ends only once its folder is gone."""

    @contextmanager
    def made(self, run_id: ApprovalId, holds: str = "") -> Iterator[Path]:
        """Yield the folder that a run will have."""
        path = self._base / run_id
        self._holds[path] = holds
        try:
            yield path
        finally:
            del self._holds[path]

    def limits(self, path: Path) -> Private:
        """Return the limits of a run with this folder, and how the folder is created."""
        spared = [str(self._base.parent)]
        return Private(
            folder=str(path), bytes=self._most_bytes, spared=spared, holds=self._holds[path]
        )


class SandboxByUser:
    """The execution host ``sandbox`` for plans of any user.

    ``make`` returns the sandbox of a user; it is ``None`` if nothing runs as other users.
    """

    def __init__(self, own: SandboxHost, make: Callable[[str], SandboxHost] | None) -> None:
        self._own = own
        self._make = make
        self._others: dict[str, SandboxHost] = {}
        self._runs: dict[ApprovalId, SandboxHost] = {}

    @property
    def place(self) -> str:
        """Return the word that events show."""
        return self._own.place

    async def stop(self) -> None:
        """End every run of another user."""
        await asyncio.gather(*(one.stop() for one in self._others.values()))

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold what would be changed with the gateway's rights; other users have their own."""
        return "" if plan.run_as else self._own.withheld(plan, requester)

    async def check(self, plan: ExecPlan) -> None:
        """Refuse what could not start inside.

        Raises:
            HostUnavailable: no sandbox works here, or not for the plan's user.
            SpawnError: a command or its folder cannot be seen from inside.
        """
        await self._of(plan).check(plan)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Verify the plan, claim, start its commands inside and wait.

        Raises:
            HostUnavailable: no sandbox works here, or not for the plan's user; nothing ran.
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
        """
        host = self._runs[run_id] = self._of(plan)
        try:
            return await host.run(run_id, plan, start)
        finally:
            del self._runs[run_id]

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command; ``False`` if it does not run here."""
        return await self._with(run_id).cancel(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        return await self._with(run_id).tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from start to end, up to the cap on what is kept."""
        return self._with(run_id).watch(run_id)

    def _of(self, plan: ExecPlan) -> SandboxHost:
        if not plan.run_as:
            return self._own
        if self._make is None:
            raise HostUnavailable(_OFF.format(plan.run_as))
        if plan.run_as not in self._others:
            self._others[plan.run_as] = self._make(plan.run_as)
        return self._others[plan.run_as]

    def _with(self, run_id: ApprovalId) -> SandboxHost:
        return self._runs.get(run_id, self._own)
