"""Run the parts of a chat benchmark as processes that take one JSON line and answer with one.

Times pass from one process to another as ``time.monotonic()``, which is the same for all on Linux.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.gateway_process import ROOT

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Program:
    """A running part; ``hello`` is what it said once it was ready."""

    process: subprocess.Popen[str]
    hello: Json

    def ask(self, do: str, **more: object) -> Any:
        """Send one line and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        return _line(self.process)


@contextmanager
def program(module: str, *words: str, log: Path) -> Iterator[Program]:
    """Run ``python -m tests.benchmarks.<module>`` for as long as the block lasts."""
    with log.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.benchmarks.{module}", *words],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Program(process, _line(process))
    finally:
        process.stdin.close()  # the end of its input ends it
        try:
            process.wait(20)
        finally:
            process.kill()
            process.stdout.close()


def _line(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise AssertionError(f"{process.args!r} ended with {process.wait(20)}; see its log")
    return json.loads(line)


def configure(home: Path, platforms: dict[str, Program], **exec_: object) -> None:
    """Write the settings of a gateway over these platforms; ``exec_`` is ``approvals.exec``."""
    hellos = {name: platform.hello for name, platform in platforms.items()}
    channels = {
        name: {**hello["tokens"], "apiBaseUrl": hello["url"], "approvers": [hello["person"]]}
        for name, hello in hellos.items()
    }
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": exec_},
        "channels": channels,
    }
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


async def serve(hello: Json, handle: Handler) -> None:
    """Say hello, then answer each line of the input until it ends."""
    _say(hello)
    while line := await asyncio.to_thread(sys.stdin.readline):
        _say(await handle(json.loads(line)))


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
