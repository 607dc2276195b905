"""Run a gateway with an agent that may run everything and one that must ask, for `sayso run`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.product_process import start as started
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")


@contextmanager
def running_gateway(
    home: Path, kind: type[GatewayProcess] = GatewayProcess
) -> Iterator[GatewayProcess]:
    """Run a gateway where the agent `free` may run everything, and others ask."""
    write_config(home, None)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": {"security": "full"}}}]}
    path.write_text(json.dumps(config))
    gateway = kind(home, real=kind is not GatewayProcess)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


def typed(gateway: GatewayProcess, *words: str) -> tuple[int, str]:
    """Type one command at its own terminal."""
    return in_terminal(*SAYSO, *words, environ=gateway.environ())


@contextmanager
def start(
    gateway: GatewayProcess, *words: str, agent: str = "free", **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Start `sayso run` in a process; its streams are pipes unless set otherwise."""
    options: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        **how,
    }
    command = [*SAYSO, "run", "--agent", agent, *words]
    process = started(command, cwd=ROOT, env=gateway.environ(), **options)
    with process:
        try:
            yield process
        finally:
            process.kill()


def finished(
    gateway: GatewayProcess, *words: str, agent: str = "free", **how: Any
) -> tuple[int, bytes, bytes]:
    """Run to the end; return exit code, standard output and standard error."""
    given = how.pop("input", None)
    if given is not None:
        how["stdin"] = subprocess.PIPE
    with start(gateway, *words, agent=agent, **how) as process:
        out, error = process.communicate(given, timeout=30)
    return process.returncode, out, error


def question(gateway: GatewayProcess) -> dict[str, Any]:
    """Wait for the one question that is pending."""
    found: dict[str, Any] = wait_until(
        "a question", lambda: next(iter(gateway.json("pending")), None), pause=0.1
    )
    return found


def answered(gateway: GatewayProcess, decision: str) -> None:
    """Answer the one question as a person in another session."""
    done = gateway.cli("approve", question(gateway)["code"], decision, own_session=True)
    assert done.returncode == 0, done.stderr


def read_until(fd: int, words: bytes, seconds: float = 15.0) -> bytes:
    """Read from a descriptor until these words have arrived."""
    end, found = time.monotonic() + seconds, b""
    while words not in found and time.monotonic() < end:
        try:
            found += os.read(fd, 65_536)
        except OSError:
            break
    assert words in found, found[-400:]
    return found
