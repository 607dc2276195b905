"""Run plans inside a sandbox, or not at all (S0 "Sandbox host")."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from core.errors import HostUnavailable, SpawnError
from core.hosts.sandbox.backend import Backend
from core.hosts.sandbox.environment import TMP
from core.hosts.sandbox.filesystem.permissions import user_of
from core.hosts.sandbox.filesystem.protect import Protection
from core.hosts.sandbox.filesystem.workspace_check import Checks
from core.hosts.sandbox.probe import probe
from core.hosts.sandbox.select_backend import Choice
from core.hosts.sandbox.tmp_dir import Folders
from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.policy import ExecHost
from core.model.result import Finished, LiveOutput, OutputChunk
from core.model.stdio import Capture
from core.ports import RunStart
from core.runner.runner import Runner

_NO_TERMINAL = "a sandboxed command gets no terminal. Request the host gateway, or no terminal"


class SandboxHost:
    """The execution host ``sandbox``. ``own`` is the gateway's folder, which a probe must not see.

    ``foreign``: its commands run as another user than the gateway's.
    ``missing`` are the reasons for which backends are not even tried, ``protect`` the relative
    paths that no run may change in its workspace.
    """

    def __init__(
        self,
        runner: Runner,
        backends: Sequence[Backend],
        scratch: Folders,
        own: str,
        *,
        network: bool = False,
        foreign: bool = False,
        missing: Sequence[str] = (),
        protect: Sequence[str] = (),
    ) -> None:
        self._runner = runner
        self._backends = tuple(backends)
        self._scratch = scratch
        self._runs: dict[ApprovalId, asyncio.Event] = {}
        self._checks = Checks(Protection(tuple(protect)))

        self._sweeping: asyncio.Future[list[None]] | None = None

        async def prove(backend: Backend) -> str:
            return await probe(runner, backend, scratch, own, network=network, foreign=foreign)

        self._choice = Choice(self._backends, missing, prove)

    @property
    def place(self) -> str:
        """Return the word that events show."""
        return ExecHost.SANDBOX.value

    async def backend(self) -> str:
        """Return the name of the backend that works here.

        Raises:
            HostUnavailable: none does; the message has the reason of each.
        """
        return (await self._choice.proven()).name

    async def start(self) -> None:
        """Remove what the runs of a dead gateway left."""
        await self._scratch.clear()
        sweeps = (one.sweep(None, None) for one in self._backends)
        self._sweeping = asyncio.ensure_future(asyncio.gather(*sweeps))

    async def settled(self) -> None:
        """Wait until what earlier runs left is gone."""
        if self._sweeping is not None:
            await asyncio.shield(self._sweeping)

    async def stop(self) -> None:
        """End every run, and wait until nothing of it is left."""
        for run_id in tuple(self._runs):
            await self.cancel(run_id)
        await asyncio.gather(*(over.wait() for over in self._runs.values()))
        await self.settled()
        await self._scratch.settle()
        self._checks.close()
        for backend in self._backends:
            backend.close()

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold a workspace that another user of this machine names and could not write to.

        Commands here run without approval and with the gateway's rights to it. A workspace that
        the configuration names is for all users.
        """
        uid = requester.uid
        if uid is None or uid == os.geteuid():
            return ""
        folder = plan.cwd
        identity = folder.device, folder.inode
        if not any(one.names_workspace(plan) for one in self._backends):
            return ""
        if user_of(uid).may_change(folder.path, identity):
            return ""
        return (
            f"the working directory `{folder.path}` would be changed by the gateway's user, and "
            f"uid {uid}, which asks, may not change it itself. Name a folder that both may write to"
        )

    async def check(self, plan: ExecPlan) -> None:
        """Refuse what could not start inside.

        Raises:
            HostUnavailable: no sandbox works here.
            SpawnError: a command or its folder cannot be seen from inside.
        """
        (await self._choice.proven()).check(plan)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Verify the plan, claim, start its commands inside and wait.

        Raises:
            HostUnavailable: no sandbox works here, the disk is nearly full, or the plan wants a
                terminal; nothing ran.
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
        """
        if plan.stdio.capture is Capture.PTY:
            raise HostUnavailable(_NO_TERMINAL)
        await self.settled()  # else a sweep could take a new run for an old one
        backend = await self._choice.proven()
        if run_id in self._runs:
            raise SpawnError(f"run {run_id} is in progress; it is not started again")
        over = self._runs[run_id] = asyncio.Event()
        try:
            return await self._inside(backend, run_id, plan, start)
        finally:
            del self._runs[run_id]
            over.set()

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command; ``False`` if it does not run here."""
        return await self._runner.cancel(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        return await self._runner.tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from start to end, up to the cap on what is kept."""
        return self._runner.watch(run_id)

    async def _inside(
        self, backend: Backend, run_id: ApprovalId, plan: ExecPlan, start: RunStart
    ) -> Finished:
        await self._checks.prepare(backend.workspace(plan))
        with (
            self._scratch.made(run_id, _below_tmp(plan.cwd.path)) as scratch,
            self._checks.run() as check,
        ):
            done = None
            try:
                with backend.enclose(run_id, plan, scratch, check) as enclosure:
                    private = self._scratch.limits(scratch)
                    done = await self._runner.run(run_id, plan, start, enclosure, private=private)
            finally:
                await backend.sweep(run_id, done)
                findings = await check.finish()
        if backend.broke(done):
            self._choice.doubt(backend)
        return replace(done, findings=findings) if findings else done


def _below_tmp(folder: str) -> str:
    """Return the path of a folder below ``/tmp``, empty if it is elsewhere."""
    return folder.removeprefix(f"{TMP}/") if folder.startswith(f"{TMP}/") else ""
