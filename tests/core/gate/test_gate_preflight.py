"""Ask no one about what could not start whatever they answered (issue 4 "Preflight")."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.gate.gate import Gate
from core.hosts.sandbox.host import SandboxHost
from core.hosts.sandbox.tmp_dir import Scratch
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.policy import ExecAsk, ExecHost
from core.model.result import Denied, Pending
from core.store import approvals
from tests.support.gate import gate_at, layer, request
from tests.support.runs import script
from tests.support.sandbox import HomeBeside, sandbox

ASKING = layer(host=ExecHost.SANDBOX, ask=ExecAsk.ALWAYS)


@asynccontextmanager
async def asking(house: HomeBeside, host: SandboxHost, folder: Path) -> AsyncIterator[Gate]:
    """Yield a gate that asks about whatever should run in a sandbox."""
    home = folder / "gate"
    home.mkdir()
    async with gate_at(home, ASKING) as gate:
        gate.execution.hosts = {ExecHost.SANDBOX: host}
        yield gate


def wishes(house: HomeBeside, folder: Path) -> dict[str, ExecRequest]:
    """Return what cannot start inside, each for a different reason."""
    tool = script(folder / "tool", "#!/bin/sh\necho ran\n")
    return {
        "a folder": request("ls", cwd=house.home),
        "a folder on the way": request(f"cd {house.home} && ls", cwd=house.workspace),
        "a program": request(argv=(str(tool),), cwd=house.workspace),
    }


@pytest.mark.parametrize("what", ["a folder", "a folder on the way", "a program"])
async def test_what_cannot_start_in_the_sandbox_is_not_asked_about(
    what: str, tmp_path: Path
) -> None:
    """It is refused at once, with the reason that the run would give."""
    async with sandbox(tmp_path) as house, asking(house, house.host, tmp_path) as gate:
        refused = await gate.submit(wishes(house, tmp_path)[what])
        asked = await gate.store.read(approvals.pending, 10)
        fine = await gate.submit(request("ls", cwd=house.workspace))

    assert isinstance(refused, Denied)
    assert (refused.reason, asked) == (DenialReason.SPAWN_FAILED, ())
    assert "cannot be seen from inside" in refused.why
    assert isinstance(fine, Pending), "the control"


async def test_without_a_sandbox_that_works_nobody_is_asked(tmp_path: Path) -> None:
    """The reason names what is missing."""
    async with sandbox(tmp_path) as house:
        scratch = Scratch(house.home / "none")
        none = SandboxHost(house.runner, (), scratch, str(house.home), missing=("bwrap: missing",))
        async with asking(house, none, tmp_path) as gate:
            refused = await gate.submit(request("ls", cwd=house.workspace))
            asked = await gate.store.read(approvals.pending, 10)

    assert isinstance(refused, Denied)
    assert (refused.reason, asked) == (DenialReason.HOST_UNAVAILABLE, ())
    assert "bwrap: missing" in refused.why
