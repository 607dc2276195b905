"""Face supervisors of other users that send what none sends: the run is over, its end unseen."""

import asyncio
import json
import socket
import struct
from typing import Any

from core.model.result import Finished
from core.runner.link import Link
from core.runner.runner import Runner
from core.runner.supply import ANY, Order
from tests.support.runs import Start, new_run, planned, request

_ENDED: dict[str, Any] = {
    "exit_code": 0,
    "signal": None,
    "text": "",
    "tail": None,
    "total_bytes": 0,
    "truncated": False,
    "duration_ms": 1,
    "timed_out": False,
    "totals": [],
    "drift": None,
    "fit": True,
}
_WRONG: tuple[dict[str, Any], ...] = (
    {"ended": 1}, {"ended": {}}, {"started": {}}, {"failed": 3}, {"next": {}}, {"tail": {}},
    {"ended": _ENDED | {"exit_code": "0"}}, {"ended": _ENDED | {"exit_code": 2**70}},
    {"ended": _ENDED | {"text": 7}}, {"ended": _ENDED | {"timed_out": "no"}},
)  # fmt: skip
_BROKEN = (b"x", b"[1]", b"1", b"null", b"[" * 50_000)
_SENT = (*_BROKEN, *(json.dumps(one).encode() for one in _WRONG))


class Lying:
    """A supply whose supervisor sends one report, whatever its job; it counts what it ended."""

    lost = "lost"
    launcher_pid = 0

    def __init__(self, report: bytes) -> None:
        self.report, self.discarded = report, 0

    async def start(self) -> None:
        """Start nothing."""

    async def stop(self) -> None:
        """Stop nothing."""

    async def take(self, order: Order = ANY) -> Link:
        """Return a link whose other end has sent its report."""
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(struct.pack(">I", len(self.report)) + self.report)
            self.kept = theirs.dup()
        return Link(ours, 0)

    def put_back(self, link: Link) -> None:
        """Fail: nobody may use it again."""
        raise AssertionError(link)

    def discard(self, link: Link) -> None:
        """Close it."""
        self.discarded += 1
        link.close()
        self.kept.close()

    def kill(self, pid: int) -> None:
        """Kill nothing."""


async def test_what_is_no_report_ends_the_run_and_its_supervisor() -> None:
    """Nothing is raised into the gate, which would keep it as running; the control is a report."""
    plan = planned(request("true"))
    good = json.dumps({"ended": _ENDED | {"fit": False}}).encode()
    for report in (*_SENT, good):
        supply = Lying(report)
        done = await Runner(supply=supply).run(new_run(), plan, Start())
        await asyncio.sleep(0)
        assert isinstance(done, Finished)
        assert done.exit_code == (0 if report is good else None), report[:60]
        assert supply.discarded == 1
