"""`sayso run` outlives its gateway: a question is answered later, a run is reported as known."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import answered, question, read_until, running_gateway, start
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway that may be killed."""
    with running_gateway(tmp_path / "home") as gateway:
        yield gateway


def heard(gateway: GatewayProcess) -> dict[str, Any]:
    """Wait for the question, and until its own client has surely been told of it, too.

    That client is told a moment after all others; two more polls take a hundred times as long.
    """
    return [question(gateway) for _ in range(3)][-1]


@pytest.mark.parametrize("kill", [True, False])
def test_both_are_followed_over_a_restart(gateway: GatewayProcess, kill: bool) -> None:
    """A question is answered later, once; a run is reported as known, and never run again.

    A gateway that is stopped in order ends its runs and knows it; after a kill, no one knows.
    """
    with (
        start(gateway, "-c", "id -un", agent="main") as asking,
        start(gateway, "-c", "echo first; sleep 20") as running,
    ):
        assert asking.stderr is not None
        assert running.stdout is not None
        assert running.stdout.readline() == b"first\n"
        heard(gateway)
        if kill:
            gateway.kill()
        else:
            gateway.stop()
        # Not the first line if the question has existed for two seconds by then.
        read_until(asking.stderr.fileno(), b"connection lost; reconnecting for up to 30 s\n")
        gateway.start()
        answered(gateway, "allow-once")
        assert (asking.communicate(timeout=20)[0], asking.returncode) == (b"root\n", 0)
        out, error = running.communicate(timeout=20)

    assert (running.returncode, out) == (1 if kill else 143, b"")
    told = b"how it ended is unknown, and it is not retried" if kill else b"cancelled after"
    assert told in error


def test_nobody_has_to_wait_for_a_gateway(gateway: GatewayProcess) -> None:
    """A signal exits at once while there is none; the run is named."""
    with start(gateway, "-c", "id -un", agent="main") as process:
        asked = heard(gateway)
        gateway.kill()
        assert process.stderr is not None
        read_until(process.stderr.fileno(), b"reconnecting for up to 30 s")
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, error = process.communicate(timeout=10)
        took_s = time.monotonic() - begin

    assert process.returncode == -signal.SIGINT
    assert took_s < 2.5
    assert f"detached from run {asked['id']}; see `sayso history`".encode() in error
    wait_until("the end of the client", lambda: process.poll() is not None)
