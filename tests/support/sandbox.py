"""Run real commands in a real sandbox, next to a gateway's home that they must not see."""

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.hosts.sandbox.backend import Backend
from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.hosts.sandbox.filesystem.layout import Places, places_of
from core.hosts.sandbox.host import SandboxHost
from core.hosts.sandbox.tmp_dir import MOST_BYTES, Scratch
from core.model.command import ExecPlan, ExecRequest
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished
from core.planning.planner import Planner
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.settings.sandbox import SandboxSection
from tests.support.runs import Start, new_run, request, running

SANDBOX = ExecPolicy(host=ExecHost.SANDBOX)
PYTHON = os.path.realpath(sys.executable)
SECRET = "the gateway's own words"
PATIENCE_MS = 20_000
PROTECTED = SandboxSection().protect


def bwrap() -> str:
    """Return where bubblewrap is; on a machine without it these tests fail and are not skipped."""
    found = shutil.which("bwrap")
    assert found is not None, "bubblewrap is missing; tests/system_packages.sh installs it"
    return found


@dataclass
class HomeBeside:
    """A gateway's home, a workspace, and a runner with a sandbox over both."""

    runner: Runner
    host: SandboxHost
    home: Path
    workspace: Path

    async def run(
        self, wish: str | tuple[str, ...], cwd: Path | None = None, start: Start | None = None
    ) -> Finished:
        """Run a line or a vector inside, by default in the workspace."""
        return await self.host.run(new_run(), self.plan(wish, cwd), start or Start())

    async def run_outside(self, wish: str | tuple[str, ...], cwd: Path | None = None) -> Finished:
        """Run the same on the gateway host: the control."""
        return await self.runner.run(new_run(), self.plan(wish, cwd), Start())

    def plan(
        self,
        wish: str | tuple[str, ...],
        cwd: Path | None = None,
        timeout_ms: int | None = None,
    ) -> ExecPlan:
        """Plan a line or a vector for the sandbox."""
        patience_ms = timeout_ms or PATIENCE_MS
        return sandboxed(wished(wish, cwd or self.workspace, patience_ms))


def wished(wish: str | tuple[str, ...], cwd: Path, timeout_ms: int = PATIENCE_MS) -> ExecRequest:
    """Return the request for a line or a vector."""
    if isinstance(wish, str):
        return request(wish, cwd=cwd, timeout_ms=timeout_ms)
    return request(argv=wish, cwd=cwd, timeout_ms=timeout_ms)


def sandboxed(wish: ExecRequest) -> ExecPlan:
    """Return a request's plan for the host sandbox."""
    plan = Planner().plan(wish, SANDBOX)
    assert isinstance(plan, ExecPlan), plan
    return plan


def places_for(home: Path, protect: tuple[str, ...] = ()) -> Places:
    """Return this machine's places with the running Python visible, wherever it is installed."""
    return places_of([home], str(Path.home()), shown=(sys.base_prefix,), protected=protect)


@asynccontextmanager
async def sandbox(
    folder: Path,
    *,
    network: bool = False,
    unix_sockets: bool = False,
    private_bytes: int = MOST_BYTES,
    grace_ms: int = 300,
    protect: tuple[str, ...] = PROTECTED,
) -> AsyncIterator[HomeBeside]:
    """Yield a house in a folder, enclosed by bubblewrap."""
    home, workspace = folder / "home", folder / "work"
    home.mkdir(mode=0o700)
    workspace.mkdir()
    (home / "state.db").write_text(SECRET)
    backend = Bubblewrap(
        bwrap(),
        places_for(home, protect),
        network=network,
        unix_sockets=unix_sockets,
        private_bytes=private_bytes,
    )
    async with (
        running(Limits(grace_ms=grace_ms)) as runner,
        over(
            runner, backend, home, network=network, private_bytes=private_bytes, protect=protect
        ) as host,
    ):
        yield HomeBeside(runner, host, home, workspace)


@asynccontextmanager
async def over(
    runner: Runner,
    backend: Backend,
    home: Path,
    *,
    network: bool = False,
    private_bytes: int = MOST_BYTES,
    protect: tuple[str, ...] = PROTECTED,
) -> AsyncIterator[SandboxHost]:
    """Yield a started sandbox host over one backend."""
    scratch = Scratch(home / "sandbox", private_bytes)
    host = SandboxHost(runner, (backend,), scratch, str(home), network=network, protect=protect)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()
