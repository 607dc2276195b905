"""Run gateways whose wall clocks a test sets, each its own (libfaketime), and ask them."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from bot.client import Client
from core.errors import SaysoError
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.waiting import wait_until

_FAKER = "/usr/lib/*-linux-gnu*/faketime/libfaketime.so.1"
TIMEOUT_S = 2.0
_LONG = "sleep 86399"
_keys = count(1)


def faked(offset: Path) -> dict[str, str]:
    """Return the environment of a process whose wall clock is off by what the file says.

    Only the wall clock: the kernel's steady clocks and the times of files stay, as they do when a
    machine's clock is set.
    """
    found = sorted(Path("/").glob(_FAKER.lstrip("/")))
    assert found, "No libfaketime here. Run `apt-get install faketime`."
    return {
        "LD_PRELOAD": str(found[-1]),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def set_clock(offset: Path, seconds: int) -> None:
    """Set the wall clock of every process that follows the file this far off, at once."""
    new = offset.with_suffix(".new")
    new.write_text(f"{seconds:+d}\n")
    new.rename(offset)


@dataclass(frozen=True, slots=True)
class Ended:
    """A question whose time is up.

    By the true clock (monotonic seconds) it was asked between ``before`` and ``after``, and its end
    was known at ``end``; ``answer`` is what the store says about it.
    """

    before: float
    after: float
    end: float
    answer: dict[str, Any]

    @property
    def most_s(self) -> float:
        """How long it can have waited, at most."""
        return self.end - self.before

    @property
    def late_ms(self) -> int:
        """By how much its end came after its deadline, by the store's clock."""
        return int(self.answer["atMs"]) - int(self.answer["deadlineMs"])

    def is_as_far_behind(self, other: "Ended", slack_s: float) -> bool:
        """Return whether as much time passed between two deadlines as between the questions."""
        apart_s = (self.answer["deadlineMs"] - other.answer["deadlineMs"]) / 1000
        least, most = self.before - other.after, self.after - other.before
        return bool(least - slack_s <= apart_s <= most + slack_s)


@dataclass
class SteppedGateway(GatewayProcess):
    """A gateway with a wall clock of its own."""

    offset: Path = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.offset = self.home / "offset"
        set_clock(self.offset, 0)

    def environ(self) -> dict[str, str]:
        """Return the environment of every process of this gateway."""
        return {**super().environ(), **faked(self.offset)}

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method over the socket, by the test's own clock."""
        with Client(str(self.home / "gateway.sock")) as client:
            return client.call(method, params, timeout=600)

    def request(self, line: str) -> dict[str, Any]:
        """Ask to run a line, in a session of its own."""
        session = f"s{next(_keys)}"
        asked = {"command": line, "cwd": "/", "session": session}
        return self.call("exec.approval.request", **asked)

    def asked_to_the_end(self) -> Ended:
        """Ask a question that no one answers, and wait until its time is up."""
        before = time.monotonic()
        question = self.request("id")
        after = time.monotonic()
        answer = self.call("exec.approval.waitDecision", id=question["id"])
        end = time.monotonic()
        return Ended(before, after, end, answer)

    def run_for_long(self) -> str:
        """Start a command that runs until it is cancelled; return its id."""
        known = {one["id"] for one in self._live()}
        threading.Thread(target=self._run_long, daemon=True).start()
        found = wait_until("a run", lambda: {one["id"] for one in self._live()} - known)
        return str(found.pop())

    def _run_long(self) -> None:
        with suppress(SaysoError):  # the gateway is killed, or the test has failed
            self.request(_LONG)

    def is_running(self, run_id: str) -> bool:
        """Return whether the history has a run as started."""
        return any(one["id"] == run_id for one in self._live())

    def _live(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.call("history.list", limit=500)["history"]
        return [one for one in rows if one["state"] == "started"]


def home(folder: Path, url: str | None, timeout_s: float = TIMEOUT_S) -> Path:
    """Make a home whose questions wait for the terminal, and where `sleep` runs without asking."""
    write_config(folder, None, timeout=timeout_s)
    path = folder / "config.json5"
    config = json.loads(path.read_text())
    config["tools"]["exec"]["timeout"] = 86_400
    if url is not None:
        config["store"] = {"url": url}
    path.write_text(json.dumps(config))
    allow = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/sleep"}]}}}
    (folder / "exec-approvals.json").write_text(json.dumps(allow))
    return folder


@contextmanager
def stepped(
    folder: Path, urls: list[str | None], timeout_s: float = TIMEOUT_S
) -> Iterator[list[SteppedGateway]]:
    """Run a gateway for each URL, each with a home and a clock of its own."""
    with ExitStack() as stack:
        gateways = []
        for number, url in enumerate(urls):
            gateway = SteppedGateway(home(folder / f"g{number}", url, timeout_s))
            gateway.start()
            stack.callback(gateway.stop)
            gateways.append(gateway)
        yield gateways


def round_of(gateways: list[SteppedGateway], stepping: int, offset: int) -> list[Ended]:
    """Ask at each gateway, set one's clock while the questions wait; return how they ended."""
    with ThreadPoolExecutor(len(gateways)) as pool:
        asked = [pool.submit(gateway.asked_to_the_end) for gateway in gateways]
        time.sleep(0.4 * TIMEOUT_S)
        set_clock(gateways[stepping].offset, offset)
        return [one.result() for one in asked]
