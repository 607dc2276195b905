"""End a question or a command with its closed terminal: real pseudo-terminals."""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.running import SAYSO, question, read_until, running_gateway, start
from tests.support.gateway_process import GatewayProcess
from tests.support.terminal import terminal
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Run one gateway for all of these."""
    with running_gateway(tmp_path_factory.mktemp("hang-up") / "home") as gateway:
        yield gateway


@contextmanager
def in_window(
    gateway: GatewayProcess, *words: str, term: str = "xterm"
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a command in the foreground of a terminal; yield it and our end of the terminal."""
    environ = {**gateway.environ(), "TERM": term, "LANG": "C.UTF-8"}
    with terminal(*words, environ=environ) as started:
        yield started


def close_window(master: int) -> None:
    """Hang up as a closed terminal does; the descriptor remains ours."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, master)
    os.close(nothing)


def alive(words: str) -> bool:
    """Return whether a process with these words on its command line is alive."""
    found = subprocess.run(["pgrep", "-f", words], capture_output=True, check=False)
    return bool(found.stdout.split())


def ends(gateway: GatewayProcess) -> list[str]:
    """Return how each run of the history ended."""
    return [row["state"] for row in gateway.json("history")]


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_closed_terminal_withdraws_the_question(gateway: GatewayProcess, term: str) -> None:
    """No one can allow what no one waits for any more, whether a spinner runs or not."""
    with in_window(gateway, *SAYSO, "run", "-c", "id -g", term=term) as (process, master):
        read_until(master, b"sayso deny")
        question(gateway)
        close_window(master)
        assert process.wait(20) == -signal.SIGHUP

    assert gateway.json("pending") == []
    assert ends(gateway)[0] == "cancelled"


def test_a_closed_terminal_ends_the_run(gateway: GatewayProcess) -> None:
    """The command is ended, and our parent sees the signal that we got."""
    mark = f"61.{os.getpid()}"
    words = (*SAYSO, "run", "--agent", "free", "-c", f"echo first; sleep {mark}")
    with in_window(gateway, *words) as (process, master):
        read_until(master, b"first")
        close_window(master)
        assert process.wait(20) == -signal.SIGHUP

    wait_until("the end of the command", lambda: not alive(f"sleep {mark}"))


@pytest.mark.parametrize("agent", ["free", "main"])
def test_a_window_with_a_shell_in_it(gateway: GatewayProcess, agent: str) -> None:
    """A shell passes the signal on, and the kernel sends it again: that is not a second request."""
    mark = f"62.{os.getpid()}"
    run = shlex.join([*SAYSO, "run", "--agent", agent, "-c", f"id; sleep {mark}"])
    with in_window(gateway, "bash", "--norc", "--noprofile", "-i") as (_, master):
        os.write(master, f"{run}\n".encode())
        read_until(master, b"uid=" if agent == "free" else b" left")
        close_window(master)
        wait_until("the end of the command", lambda: not alive(f"sleep {mark}"))
        wait_until("no question", lambda: gateway.json("pending") == [], pause=0.1)


def test_who_ignores_the_signal_is_left_alone(gateway: GatewayProcess, tmp_path: Path) -> None:
    """A run that was told to outlive its terminal does."""
    command = f"echo first; sleep 1; touch {tmp_path / 'done'}"
    run = shlex.join([*SAYSO, "run", "--agent", "free", "-c", command])
    with in_window(gateway, "sh", "-c", f"trap '' HUP; exec {run}") as (_, master):
        read_until(master, b"first")
        close_window(master)
        wait_until("the end of the command", (tmp_path / "done").exists)


def test_a_signal_counts_where_nothing_can_be_said(gateway: GatewayProcess) -> None:
    """A full disk behind standard error does not keep the gateway from learning of the end."""
    mark = f"63.{os.getpid()}"
    with (
        Path("/dev/full").open("wb") as full,
        start(gateway, "-c", f"echo first; sleep {mark}", stderr=full) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == -signal.SIGTERM

    assert not alive(f"sleep {mark}")


class Daemon(GatewayProcess):
    """A gateway whose parent closed its three standard streams."""

    def argv(self) -> list[str]:
        """Return the command by which it is started."""
        return ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *super().argv()]


def test_a_gateway_without_streams_runs_commands(tmp_path: Path) -> None:
    """No socket or file of its own becomes descriptor 0, 1 or 2."""
    with running_gateway(tmp_path / "home", Daemon) as gateway:
        done = gateway.cli("run", "--agent", "free", "-c", "echo x; echo y >&2")

    assert (done.returncode, done.stdout, done.stderr) == (0, "x\n", "y\n")
