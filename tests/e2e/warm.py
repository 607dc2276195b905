"""Start gateways again and again from a process that has imported them already.

Importing takes 1.1 s of CPU, the rest of a start 0.1 s. Where a test kills a gateway 25 times to see
what its store remembers, only its first start is a cold one, by ``python -m bot serve``; the later
ones are forked: processes of their own all the same, which SIGKILL ends in the same way.

A program too: ``python -m tests.e2e.warm``, one line of JSON in, one out; ``{"environ": …, "log": …}``
starts a gateway and is answered by its ``pid``, ``{"poll": pid}`` by its exit code or null.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.e2e.processes import ROOT, GatewayProcess, until

_SERVING = ("bot.app", "bot.cli.serve", "apscheduler.executors.asyncio", "asyncpg")
"""With what these import, a gateway that serves no chat has everything."""


@dataclass(frozen=True, slots=True)
class Nursery:
    """The process that forks gateways."""

    process: subprocess.Popen[str]

    def asks(self, **request: Any) -> Any:
        """Return its answer to a request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Run a nursery for as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.warm"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Nursery(process)


@dataclass(frozen=True, slots=True)
class Forked:
    """A process of the nursery, with the part of ``subprocess.Popen`` that gateways need."""

    nursery: Nursery
    pid: int

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; nothing while it runs."""
        code: int | None = self.nursery.asks(poll=self.pid)
        return code

    def wait(self, seconds: float) -> int:
        """Wait for the end."""
        end = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < end, f"process {self.pid} has not ended in {seconds} s"
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal; the number stays the process's own until its exit code was read."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a crash would."""
        self.send_signal(signal.SIGKILL)


@dataclass
class WarmGateway(GatewayProcess):
    """A gateway whose first start is cold and whose later ones are warm."""

    nursery: Nursery | None = None

    def start(self) -> None:
        """Start and wait until the socket answers."""
        if self.process is None or self.nursery is None:
            super().start()
            return
        answer = self.nursery.asks(environ=self.environ(), log=str(self.log))
        self.process = Forked(self.nursery, answer["pid"])  # type: ignore[assignment]
        until("the gateway's socket", self._answers, seconds=30)


def _become(environ: dict[str, str], log: str) -> None:
    """Take the environment and the files that a gateway is started with."""
    os.environ.clear()
    os.environ.update(environ)
    files = [os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)]
    for to, file in enumerate((files[0], files[1], files[1])):
        os.dup2(file, to)
    for file in files:
        os.close(file)


def _polled(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main() -> int:
    """Answer until there are no more requests; a child leaves the loop and serves."""
    for name in _SERVING:
        importlib.import_module(name)
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "poll" in request:
            answer: Any = _polled(request["poll"])
        elif (pid := os.fork()) == 0:
            _become(**request)
            return int(importlib.import_module("bot.cli").main(["serve"]))
        else:
            answer = {"pid": pid}
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
