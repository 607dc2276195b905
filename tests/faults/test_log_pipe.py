"""Serve and stop although the log is a pipe that no one reads, or whose reader is gone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.pace import slowness
from tests.support.waiting import wait_until

_STOP_S = 3.0
_WAITS = """
import sys
import bot.wiring.logs
from bot.cli import main  # takes the real class of streams
class Same:
    def __init__(self, fd):
        self.fileno = lambda: fd
bot.wiring.logs.LogWriter = Same
bot.wiring.logs.io.TextIOWrapper = lambda writer, *how, **more: sys.__stderr__
sys.exit(main(["serve"]))
"""
"""A gateway that writes its log itself, as it did before."""


@dataclass
class Piped(GatewayProcess):
    """A gateway whose standard output and error are a pipe."""

    pipe: int = -1
    waits: bool = False

    def start(self) -> None:
        """Start, without checking whether it answers."""
        words = ("-c", _WAITS) if self.waits else ("-m", "bot", "serve")
        self.process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=self.pipe,
            stderr=self.pipe,
        )

    def ready(self) -> None:
        """Wait until the socket answers."""
        wait_until("the gateway's socket", self._answers, seconds=30)


@contextmanager
def piped(home: Path, *, reader: bool, waits: bool = False) -> Iterator[tuple[Piped, int]]:
    """Run a gateway over a full pipe with a silent reader, or one without any."""
    write_config(home, None)
    ours, theirs = os.pipe()
    if reader:
        fill(theirs)
    else:
        os.close(ours)
    gateway = Piped(home, pipe=theirs, waits=waits)
    gateway.log.touch()
    gateway.start()
    os.close(theirs)
    try:
        yield gateway, ours
    finally:
        assert gateway.process is not None
        if gateway.process.poll() is None:
            gateway.kill()
        if reader:
            os.close(ours)


def fill(pipe: int) -> None:
    """Write to a pipe until it takes nothing more."""
    os.set_blocking(pipe, False)
    for size in (1 << 16, 1):
        try:
            while True:
                os.write(pipe, b"\n" * size)
        except BlockingIOError:
            pass
    os.set_blocking(pipe, True)


def served(gateway: Piped) -> None:
    """Have a command run."""
    gateway.ready()
    run = gateway.cli("run", "--", "/usr/bin/echo", "it", "runs")
    assert (run.returncode, run.stdout) == (0, "it runs\n"), run


def stopped(gateway: Piped) -> tuple[int, float]:
    """Stop a gateway; return its exit code and how many seconds it took."""
    assert gateway.process is not None
    began = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    code = gateway.process.wait(60)
    return code, time.monotonic() - began


@pytest.mark.timeout(120)
def test_a_full_pipe_holds_up_neither_the_gateway_nor_its_stop(tmp_path: Path) -> None:
    """It serves, reloads its configuration, and stops with 0."""
    with piped(tmp_path / "home", reader=True) as (gateway, _):
        served(gateway)
        assert gateway.process is not None
        gateway.process.send_signal(signal.SIGHUP)  # it writes a line about that
        served(gateway)
        code, took = stopped(gateway)

    assert code == 0
    assert took < _STOP_S * slowness()


@pytest.mark.timeout(120)
def test_what_waited_is_read_by_a_reader_that_comes_back(tmp_path: Path) -> None:
    """Nothing that fits is lost: the lines of the start are there when someone reads."""
    with piped(tmp_path / "home", reader=True) as (gateway, ours):
        served(gateway)
        log = b""
        while b"sayso: listening on" not in log:
            log += os.read(ours, 1 << 16)
        code, _ = stopped(gateway)
        while more := os.read(ours, 1 << 16):
            log += more

    assert code == 0
    assert b"\nsayso: stopping\n" in log


@pytest.mark.timeout(120)
def test_a_gateway_that_writes_its_log_itself_hangs(tmp_path: Path) -> None:
    """The control: it ends only once someone reads."""
    with piped(tmp_path / "home", reader=True, waits=True) as (gateway, ours):
        assert gateway.process is not None
        status = Path(f"/proc/{gateway.process.pid}/status")
        wait_until("the gateway to hear signals", lambda: catches(status, signal.SIGTERM), 30)
        gateway.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            gateway.process.wait(_STOP_S)
        while os.read(ours, 1 << 16):
            pass
        assert gateway.process.wait(30) == 0


def catches(status: Path, number: int) -> bool:
    """Return whether a process has its own handler for a signal."""
    (mask,) = [line.split()[1] for line in status.read_text().splitlines() if "SigCgt" in line]
    return bool(int(mask, 16) >> number - 1 & 1)


@pytest.mark.timeout(120)
def test_a_broken_pipe_changes_no_exit_code(tmp_path: Path) -> None:
    """It serves, although each line of its log fails, and stops with 0."""
    with piped(tmp_path / "home", reader=False) as (gateway, _):
        served(gateway)
        code, took = stopped(gateway)

    assert code == 0
    assert took < _STOP_S * slowness()


@pytest.mark.timeout(120)
def test_a_pipe_that_breaks_while_it_runs(tmp_path: Path) -> None:
    """The reader dies behind a full pipe: the gateway keeps serving, and stops with 0."""
    with piped(tmp_path / "home", reader=True) as (gateway, ours):
        served(gateway)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, ours)  # closes our end; the number stays ours
        os.close(nothing)
        served(gateway)
        assert stopped(gateway)[0] == 0


@pytest.mark.timeout(120)
def test_a_failed_start_keeps_its_exit_code(tmp_path: Path) -> None:
    """An unusable configuration exits with 2, whether someone reads why or not."""
    with piped(tmp_path / "home", reader=False) as (first, _):
        stopped(first)
        (first.home / "config.json5").write_text("{tools: 3}")
        ours, first.pipe = os.pipe()
        os.close(ours)
        first.start()
        os.close(first.pipe)
        assert first.process is not None
        assert first.process.wait(30) == 2


@pytest.mark.timeout(120)
def test_a_gateway_that_writes_its_log_itself_ends_otherwise(tmp_path: Path) -> None:
    """The control: what is left in its buffer fails once more at the interpreter's exit."""
    with piped(tmp_path / "home", reader=False, waits=True) as (gateway, _):
        assert gateway.process is not None
        status = Path(f"/proc/{gateway.process.pid}/status")
        wait_until("the gateway to hear signals", lambda: catches(status, signal.SIGTERM), 30)
        assert stopped(gateway)[0] != 0
