"""Give each user's runs their own sandbox, or none; never the gateway's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable
from core.hosts.sandbox.by_user import SandboxByUser, UserFolders
from core.hosts.sandbox.host import SandboxHost
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, request

OWN = planned(request(argv=("/bin/echo", "own")))
OF_BO = replace(OWN, run_as="bo")
RUN = ApprovalId("0" * 26)

Named = Callable[[str], SandboxHost]


@pytest.fixture
def named(tmp_path: Path) -> Named:
    """Return what makes a sandbox that works nowhere, and says its name."""

    def made(name: str) -> SandboxHost:
        folders = UserFolders(tmp_path, 1)
        return SandboxHost(Runner(), (), folders, "/", missing=(f"this is that of {name}",))

    return made


@pytest.mark.parametrize(("plan", "whose"), [(OWN, "the gateway"), (OF_BO, "bo")])
async def test_a_plan_runs_in_the_sandbox_of_its_user(
    named: Named, plan: ExecPlan, whose: str
) -> None:
    """Checked and run there; a user's is made once, at the first plan."""
    made: list[str] = []

    def make(user: str) -> SandboxHost:
        made.append(user)
        return named(user)

    host = SandboxByUser(named("the gateway"), make)
    with pytest.raises(HostUnavailable, match=f"this is that of {whose}"):
        await host.check(plan)
    with pytest.raises(HostUnavailable, match=f"this is that of {whose}"):
        await host.run(new_run(), plan, Start())
    await host.stop()

    assert made == ([plan.run_as] if plan.run_as else [])


async def test_where_nothing_runs_as_others_a_bound_plan_runs_nowhere(named: Named) -> None:
    """The configuration has changed since it was approved; the gateway's own plans still run."""
    host = SandboxByUser(named("the gateway"), None)

    with pytest.raises(
        HostUnavailable, match="bound to the user `bo`, and nothing runs as another"
    ):
        await host.run(new_run(), OF_BO, Start())
    with pytest.raises(HostUnavailable, match="this is that of the gateway"):
        await host.run(new_run(), OWN, Start())


async def test_a_run_that_is_over_is_cancelled_by_nobody(named: Named) -> None:
    """Nothing is remembered of an ended run."""
    host = SandboxByUser(named("the gateway"), named)
    with pytest.raises(HostUnavailable):
        await host.run(RUN, OF_BO, Start())

    assert not await host.cancel(RUN)
    assert await host.tail(RUN) is None
    assert host._runs == {}


async def test_a_private_folder_is_limited_while_its_run_lasts(tmp_path: Path) -> None:
    """The user's executor makes it, and spares the folder that all of them are in."""
    folders = UserFolders(tmp_path / "private", 16)
    with folders.made(RUN, "a file") as path:
        limits = folders.limits(path)
        assert not path.exists()

    folder = str(tmp_path / "private" / RUN)
    assert limits == {"folder": folder, "bytes": 16, "spared": [str(tmp_path)], "holds": "a file"}
    with pytest.raises(KeyError):
        folders.limits(path)
