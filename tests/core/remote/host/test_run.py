"""Report why a run does not start: nothing may run, or its start cannot be recorded."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.errors import LockedDown
from core.model.command import ExecPlan
from core.remote.denials import RemoteDenial
from tests.support.remote_machines import Machines, two_machines


@dataclass
class Shut:
    """A guard that lets nothing run, or closes the log so that no start can be recorded."""

    how: str
    hosts: list[Machines] = field(default_factory=list)

    def check(self, plan: ExecPlan) -> None:
        """Do so."""
        del plan
        if self.how == "locked":
            raise LockedDown("the owner locked this machine")
        if self.how == "log":
            self.hosts[0].log.close()


@pytest.mark.parametrize(
    ("how", "denial", "kinds"),
    [
        ("locked", RemoteDenial.LOCKED_DOWN, ["requested", "denied"]),
        ("log", RemoteDenial.AUDIT_UNAVAILABLE, ["requested"]),
        ("open", None, ["requested", "started", "finished"]),
    ],
)
async def test_a_run_that_may_not_start_says_why(
    tmp_path: Path, how: str, denial: RemoteDenial | None, kinds: list[str]
) -> None:
    """The client is told the reason, and the log has the decision."""
    guard = Shut(how)
    async with two_machines(tmp_path, guard=guard) as host:
        guard.hosts.append(host)

        done = await host.run("echo", "hello")

        assert done.denial_reason is denial
        assert done.code == (0 if denial is None else None)
        assert host.kinds()[-len(kinds) :] == kinds
