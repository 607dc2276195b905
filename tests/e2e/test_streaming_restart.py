"""`sayso run` outlives its gateway: a question is answered later, a run is told as it is known."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import GatewayProcess, until
from tests.e2e.running import answered, question, read_until, running_gateway, start


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway that may be killed."""
    with running_gateway(tmp_path / "home") as gateway:
        yield gateway


@pytest.mark.parametrize("kill", [True, False])
def test_a_question_survives(gateway: GatewayProcess, kill: bool) -> None:
    """Killed or stopped and started again: the answer still reaches whoever waits, once."""
    with start(gateway, "-c", "id -un", agent="main") as process:
        question(gateway)
        if kill:
            gateway.kill()
        else:
            gateway.stop()
        assert process.stderr is not None
        assert b"the gateway hung up; waiting 30 s for it" in process.stderr.readline()
        gateway.start()
        answered(gateway, "allow-once")
        out, _ = process.communicate(timeout=20)

    assert (process.returncode, out) == (0, b"root\n")


def test_a_run_is_unknown_after_a_kill(gateway: GatewayProcess) -> None:
    """Nothing is run again; the words and the exit code tell that the end was not seen."""
    with start(gateway, "-c", "echo first; sleep 20") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        gateway.kill()
        gateway.start()
        out, error = process.communicate(timeout=20)

    assert (process.returncode, out) == (1, b"")
    assert b"how it ended is unknown, and it is not run again" in error


def test_a_run_that_a_stop_ended_is_told(gateway: GatewayProcess) -> None:
    """A gateway that stops in peace ends its runs, and tells of it after the start."""
    with start(gateway, "-c", "echo first; sleep 20") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        gateway.stop()
        gateway.start()
        out, error = process.communicate(timeout=20)

    assert (process.returncode, out) == (143, b"")
    assert b"SIGTERM" in error


def test_nobody_has_to_wait_for_a_gateway(gateway: GatewayProcess) -> None:
    """A signal leaves at once while there is none; the run is named."""
    with start(gateway, "-c", "id -un", agent="main") as process:
        asked = question(gateway)
        gateway.kill()
        assert process.stderr is not None
        read_until(process.stderr.fileno(), b"waiting 30 s")
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, error = process.communicate(timeout=10)

    assert process.returncode == -signal.SIGINT
    assert time.monotonic() - begin < 1
    assert f"`sayso history` tells how run {asked['id']} ends".encode() in error
    until("the end of the client", lambda: process.poll() is not None)
