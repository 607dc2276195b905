"""Let a listed user ask for much and read nothing: neither the owner nor the stop is delayed."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.pace import slowness
from tests.support.waiting import wait_until

UID = 61234
CONNECTIONS = 200
RUN_S, STOP_S = 2.0, 3.0
_AT_ONCE = """
import sys
import core.ipc.unix
core.ipc.unix.FairTurns = lambda: None
from bot.cli import main
sys.exit(main(["serve"]))
"""
"""A gateway that starts each request when it has been read."""


@dataclass
class Unfair(GatewayProcess):
    """The control: a gateway without turns."""

    def start(self) -> None:
        """Start and wait until the socket answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _AT_ONCE],
                cwd=ROOT,
                env=self.environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until("the gateway's socket", self._answers, seconds=30)


@contextmanager
def shared_by_two(kind: type[GatewayProcess]) -> Iterator[tuple[GatewayProcess, Path]]:
    """Run a gateway whose shared socket another user may use, in a folder open to that user."""
    with TemporaryDirectory(dir="/tmp") as made:
        top = Path(made)
        top.chmod(0o755)
        (top / "run").mkdir(mode=0o755)
        (top / "work").mkdir()
        (top / "work").chmod(0o777)
        home = top / "home"
        write_config(home, None)
        path = home / "config.json5"
        config = json.loads(path.read_text())
        users = [{"uid": UID, "agents": ["coder"]}]
        config["intake"] = {"unix": users, "socket": str(top / "run/agents.sock")}
        config["agents"] = {"list": [{"id": "coder"}]}
        path.write_text(json.dumps(config))
        gateway = kind(home)
        gateway.start()
        try:
            yield gateway, top
        finally:
            assert gateway.process is not None
            if gateway.process.poll() is None:
                gateway.kill()


@contextmanager
def slow_readers(top: Path, way: str) -> Iterator[None]:
    """Let the other user hold its connections."""
    words = (str(top / "run/agents.sock"), str(UID), str(CONNECTIONS), way, str(top / "work"))
    held = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.slow_readers", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert held.stdout is not None
        assert held.stdout.readline() == b"held\n"
        yield
    finally:
        held.kill()
        held.communicate()


def owners_run(gateway: GatewayProcess) -> float:
    """Have the owner run something; return how many seconds it took."""
    began = time.monotonic()
    run = gateway.cli("run", "--", "/usr/bin/echo", "it", "runs")
    assert (run.returncode, run.stdout) == (0, "it runs\n"), run
    return time.monotonic() - began


def stopped(gateway: GatewayProcess) -> float:
    """Stop the gateway; return how many seconds it took."""
    assert gateway.process is not None
    began = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(120) == 0
    return time.monotonic() - began


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", ["half", "refused", "explain", "run"])
def test_the_owner_is_served_and_the_stop_is_short(
    way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The owner's runs and the stop take a moment, while another user asks without end."""
    with shared_by_two(GatewayProcess) as (gateway, top), slow_readers(top, way):
        ran = [owners_run(gateway) for _ in range(4)]
        stop = stopped(gateway)
        slow = max(1.0, slowness())

    with capsys.disabled():
        print(f"\n{way}: runs {max(ran):.2f} s, stop {stop:.2f} s, slowness {slow:.1f}")
    assert max(ran) < RUN_S * slow, ran
    assert stop < STOP_S * slow


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_without_turns_the_owner_waits_for_the_other_user() -> None:
    """The control: all requests are started before the owner's turn comes."""
    with shared_by_two(Unfair) as (gateway, top), slow_readers(top, "run"):
        assert owners_run(gateway) > RUN_S


@pytest.mark.timeout(180)
def test_what_another_user_asks_is_answered_in_its_turn() -> None:
    """The turns refuse nothing: each request of a connection that reads gets its answer."""
    script = (
        "import json, os, socket, sys; os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2])); "
        "peer = socket.socket(socket.AF_UNIX); peer.connect(sys.argv[1]); "
        "peer.sendall(sys.argv[3].encode()); lines = peer.makefile('rb'); "
        "print(*sorted(json.loads(lines.readline())['id'] for _ in range(60)))"
    )
    ask = {"jsonrpc": "2.0", "method": "policy.explain"}
    with shared_by_two(GatewayProcess) as (_, top):
        wish = {"argv": ["/usr/bin/true"], "cwd": str(top / "work")}
        asked = "".join(json.dumps({**ask, "id": n, "params": wish}) + "\n" for n in range(60))
        words = (str(top / "run/agents.sock"), str(UID), asked)
        done = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", script, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )

    assert done.stdout.split() == [str(n) for n in range(60)]
