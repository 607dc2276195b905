"""Report why a run does not start, and what was unusual about one that did."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.errors import LockedDown
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, Output, Stream, Streams
from core.remote.acl.acl import ExecTable
from core.remote.denials import Notice, RemoteDenial
from core.remote.host.run import notices_of
from tests.support.remote_machines import Machines, two_machines
from tests.support.tables import rows


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


@rows(
    "out, err, took_ms, end, notices",
    [
        (10, 20, 3_000, {"exit_code": 0}, []),
        (11, 20, 3_000, {"exit_code": 0}, [Notice.STDOUT_LARGE]),
        (10, 21, 3_000, {"exit_code": 0}, [Notice.STDERR_LARGE]),
        (10, 20, 3_001, {"exit_code": 1}, [Notice.DURATION_LONG]),
        (0, 0, 0, {"exit_code": 1}, []),
        (0, 0, 0, {"signal": 9}, []),
        (0, 0, 0, {"signal": 15, "timed_out": True}, [Notice.TIMED_OUT]),
        (0, 0, 0, {}, [Notice.END_UNSEEN]),
    ],
)
def test_what_is_unusual_about_a_run(
    out: int, err: int, took_ms: int, end: dict[str, int], notices: list[Notice]
) -> None:
    """More than a threshold, its time limit, or an end that is neither an exit nor a signal."""
    table = ExecTable(
        enabled=True, warn_stdout_bytes=10, warn_stderr_bytes=20, warn_duration_secs=3
    )
    finished = Finished(
        ApprovalId("7k3f9q"),
        end.get("exit_code"),
        end.get("signal"),
        Output(),
        took_ms,
        timed_out=bool(end.get("timed_out")),
    )
    streams = Streams(Stream(total_bytes=out), Stream(total_bytes=err))

    assert notices_of(finished, streams, table) == notices
