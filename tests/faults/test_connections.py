"""Programs that hold as many connections as they can lock out neither the owner nor a lockdown.

Each attack is made against a real gateway by real processes of the same user, which is what an
agent is without its own user.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from core.errors import SaysoError
from core.runner.supervisor.processes import procfs
from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")
HELD = {"silent": 400, "half": 400, "idle": 400, "waiting": 400, "sessions": 320, "flood": 4}
"""Connections of each attack; for the last: processes that connect without end."""
TAKES_ALL = {"sessions"}
"""Attacks after which a program in another session finds no slot: only the owner does."""


@contextmanager
def gateway_at(home: Path) -> Iterator[GatewayProcess]:
    """Run a gateway whose owner is asked about everything but `true` and `echo`."""
    write_config(home, None)
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


def ask(gateway: GatewayProcess, method: str, timeout: float = 30, **params: object) -> Any:
    """Call a method from this process, which is in no terminal's foreground."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        return client.call(method, params, timeout)


def refusal(gateway: GatewayProcess) -> str:
    """Return why a program is not served, empty if it is."""
    try:
        ask(gateway, "exec.run", argv=["/usr/bin/true"], cwd="/")
    except SaysoError as failure:
        return str(failure)
    return ""


@contextmanager
def crowd(gateway: GatewayProcess, way: str, waited: str) -> Iterator[None]:
    """Hold the connections of an attack."""
    words = (str(gateway.home / "gateway.sock"), way, str(HELD[way]), waited)
    held = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.held_connections", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert held.stdin is not None
    assert held.stdout is not None
    try:
        assert held.stdout.readline() == b"held\n"
        yield
    finally:
        family = [one.pid for one in procfs.processes() if one.ppid == held.pid]
        for pid in (*family, held.pid):
            os.kill(pid, signal.SIGKILL)
        held.wait()
        held.stdin.close()
        held.stdout.close()


def typed(gateway: GatewayProcess, *words: str) -> tuple[int, str]:
    """Run a command in the foreground of its own terminal."""
    return in_terminal(*SAYSO, *words, environ=gateway.environ())


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", HELD)
def test_the_owner_is_served_and_can_stop_all(tmp_path: Path, way: str) -> None:
    """`pending`, `approve`, `run` and `lockdown on` work while the connections are held."""
    with gateway_at(tmp_path / "home") as gateway:
        asked = [ask(gateway, "exec.run", command=f"id -{x}", cwd="/", wait=False) for x in "un"]
        with crowd(gateway, way, asked[0]["id"]):
            if way in TAKES_ALL:
                # The control: the attack works on callers without a reserved slot.
                wait_until("every place to be taken", lambda: refusal(gateway), 60, pause=0.2)
            pending = gateway.cli("pending", own_session=True)
            run = typed(gateway, "run", "--", "/usr/bin/echo", "it", "runs")
            deny = gateway.cli("approve", asked[1]["id"], "deny", own_session=True)
            other = refusal(gateway)
            on = gateway.cli("lockdown", "on", "--why", "too many", "--json", own_session=True)
            status = gateway.cli("lockdown", "status", own_session=True)
            refused = typed(gateway, "run", "--", "/usr/bin/echo", "it", "runs")
            off = typed(gateway, "lockdown", "off")

    assert (pending.returncode, "id -n" in pending.stdout) == (0, True), pending
    assert (run[0], "it runs" in run[1]) == (0, True), run
    assert deny.returncode == 0, deny
    assert bool(other) is (way in TAKES_ALL), other
    assert (on.returncode, json.loads(on.stdout)["announced"]) == (0, True), on
    assert (status.returncode, "too many" in status.stdout) == (3, True), status
    assert (refused[0], "locked_down" in refused[1]) == (3, True), refused
    assert off[0] == 0, off
