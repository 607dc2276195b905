"""Plan and run real commands."""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import PlanDrift
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Basis
from core.model.identity import ApprovalId, Intake, Requester, SessionKey
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished
from core.model.stdio import PLAIN_STDIO, Stdio
from core.planning.planner import Planner, Refusal
from core.planning.verify import verify
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.runner.supervisor.processes import procfs

POLICY = ExecPolicy(host=ExecHost.GATEWAY)
PLANNER = Planner()


def request(
    line: str | None = None,
    *,
    argv: tuple[str, ...] | None = None,
    cwd: str | os.PathLike[str] = "/tmp",
    env: tuple[tuple[str, str], ...] = (),
    timeout_ms: int | None = None,
    stdio: Stdio = PLAIN_STDIO,
    cpu_s: int | None = None,
) -> ExecRequest:
    """Return a request of an agent on the socket."""
    return ExecRequest(
        requester=Requester(Intake.SOCKET, "uid:0"),
        session=SessionKey("agent:main:test"),
        cwd=os.fspath(cwd),
        line=line,
        argv=argv,
        env=env,
        timeout_ms=timeout_ms,
        stdio=stdio,
        cpu_s=cpu_s,
    )


def planned(wish: ExecRequest, planner: Planner = PLANNER) -> ExecPlan:
    """Return the plan for a request that can be planned."""
    plan = planner.plan(wish, POLICY)
    assert isinstance(plan, ExecPlan), plan
    return plan


def refused(wish: ExecRequest) -> Refusal:
    """Return the refusal of a request that cannot be planned."""
    refusal = PLANNER.plan(wish, POLICY)
    assert isinstance(refusal, Refusal), refusal
    return refusal


@dataclass
class Start:
    """Grants or refuses the claim, and records what it receives."""

    grants: bool = True
    before_claim: Callable[[], object] = lambda: None
    identity: tuple[int, int, int] | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    why: Basis = field(default_factory=Basis)

    async def claim(self) -> bool:
        """Answer as set."""
        self.before_claim()
        return self.grants

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Record the process that leads the run."""
        self.identity = (pid, pgid, start_ticks)
        self.started.set()

    async def basis(self) -> Basis:
        """Return what let it run: policy, unless set otherwise."""
        return self.why


@asynccontextmanager
async def running(limits: Limits | None = None) -> AsyncIterator[Runner]:
    """Yield a started runner."""
    runner = Runner(limits)
    await runner.start()
    try:
        yield runner
    finally:
        await runner.stop()


def drifts(plan: ExecPlan) -> bool:
    """Return whether verifying a plan finds that something changed."""
    try:
        with verify(plan):
            return False
    except PlanDrift:
        return True


def new_run() -> ApprovalId:
    """Return a fresh run id."""
    return ApprovalId(secrets.token_hex(13))


async def run(runner: Runner, wish: ExecRequest, start: Start | None = None) -> Finished:
    """Plan and run a request."""
    return await runner.run(new_run(), planned(wish), start or Start())


async def shell(runner: Runner, script: str, timeout_ms: int | None = None) -> Finished:
    """Run a script in the shell, as an approved unreadable line runs."""
    return await run(runner, request(argv=("/bin/sh", "-c", script), timeout_ms=timeout_ms))


def copy_of(name: str, to: Path) -> Path:
    """Copy a system program, so that a test may change it."""
    found = shutil.which(name)
    assert found is not None
    copied = Path(shutil.copy(found, to))
    copied.chmod(0o755)
    return copied


def script(path: Path, text: str) -> Path:
    """Write an executable file."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def alive(pid: int) -> bool:
    """Return whether a process can still act; pid 1 may never reap it, so zombies count as dead."""
    found = procfs.process(pid)
    return found is not None and found.alive


def marked(run_id: str) -> list[int]:
    """Return the living processes that carry a run's mark."""
    mark = f"SAYSO_RUN={run_id}".encode()
    return [
        one.pid
        for one in procfs.processes()
        if one.alive and mark in procfs.environment_of(one.pid).split(b"\0")
    ]
