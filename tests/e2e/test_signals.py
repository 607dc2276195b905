"""Send signals at the wrong moment: while the gateway starts, and when it has almost ended."""

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.waiting import wait_until

_DEAF = """
import signal, sys
signal.pthread_sigmask = lambda how, which: set()
from bot.cli import main
from bot.wiring.sighup import Hangup
Hangup.end = staticmethod(lambda: None)
sys.exit(main(["serve"]))
"""
"""A gateway that blocks no signal and ignores none, as it was before."""
_SERVE = "import sys; from bot.cli import main; sys.exit(main(['serve']))"
_STARTED_S = 0.3
"""The interpreter itself has started by then, but the gateway has not."""


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Yield a gateway that has not been started."""
    write_config(tmp_path / "home", None)
    one = GatewayProcess(tmp_path / "home")
    yield one
    if one.process is not None and one.process.poll() is None:
        one.kill()


def begin(gateway: GatewayProcess, program: str) -> subprocess.Popen[bytes]:
    """Start a gateway and return once it has begun to handle its signals."""
    with gateway.log.open("ab") as log:
        gateway.process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=gateway.environ(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    return gateway.process


def blocked(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process blocks SIGHUP, as the kernel reports it."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("SigBlk:"):
            return bool(int(line.split()[1], 16) & 1 << (signal.SIGHUP - 1))
    return False


@pytest.mark.timeout(120)
def test_a_reload_while_it_starts_does_not_end_it(gateway: GatewayProcess) -> None:
    """SIGHUP repeatedly, until the gateway answers: it survives, and takes it as a reload."""
    process = begin(gateway, _SERVE)
    wait_until("a gateway that holds SIGHUP back", lambda: blocked(process), 30, pause=0.002)
    while not (gateway.home / "gateway.sock").exists():
        assert process.poll() is None
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    wait_until("an answer", gateway._answers, 60)
    wait_until("the reload", lambda: "was reloaded" in gateway.log.read_text())
    assert gateway.stop() == 0


@pytest.mark.timeout(120)
def test_a_reload_ended_a_gateway_that_started(gateway: GatewayProcess) -> None:
    """The control: one that blocks nothing dies of it."""
    codes = (_reloaded_early(gateway) for _ in itertools.repeat(None, 5))
    assert -signal.SIGHUP in codes


def _reloaded_early(gateway: GatewayProcess) -> int:
    """Send SIGHUP while a gateway starts; return its exit code, or that of its kill if it lives.

    It may have started by then if the machine was frozen.
    """
    socket = gateway.home / "gateway.sock"
    socket.unlink(missing_ok=True)
    process = begin(gateway, _DEAF)
    time.sleep(_STARTED_S)
    process.send_signal(signal.SIGHUP)
    wait_until("an end, or a start", lambda: process.poll() is not None or socket.exists())
    process.kill()
    return process.wait(30)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("more", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_until_the_end_do_not_change_how_it_ends(
    gateway: GatewayProcess, more: signal.Signals
) -> None:
    """It has stopped in order, so it exits with 0, no matter how often a signal is repeated."""
    assert ending(gateway, _SERVE, more) == 0


@pytest.mark.timeout(240)
def test_a_signal_at_the_very_end_was_the_end(gateway: GatewayProcess) -> None:
    """The control: once the handlers are gone, a signal kills."""
    ends = (ending(gateway, _DEAF, signal.SIGTERM) for _ in itertools.repeat(None, 20))
    assert -signal.SIGTERM in ends


def ending(gateway: GatewayProcess, program: str, more: signal.Signals) -> int:
    """Stop a gateway and keep sending a signal; return its exit code."""
    process = begin(gateway, program)
    wait_until("an answer", gateway._answers, 60)
    process.terminate()
    while process.poll() is None:
        process.send_signal(more)
        time.sleep(0.001)
    return process.wait()
