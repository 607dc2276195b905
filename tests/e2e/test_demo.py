"""`sayso demo` shows the whole product, with and without a terminal."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.gateway_process import ROOT
from tests.support.product_process import run
from tests.support.terminal import Screen, terminal
from tests.support.waiting import wait_until

DEMO = (sys.executable, "-m", "bot", "demo")


def demo(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the demo without a terminal."""
    return run(
        [*DEMO, *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "by_itself", "last"),
    [((), True, "finished"), (("--answer", "deny"), False, "denied")],
)
def test_without_a_terminal(words: tuple[str, ...], by_itself: bool, last: str) -> None:
    """All three requests end as they should; it says who answers for the viewer."""
    done = demo("--json", *words)
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    ends = [step["status"] for step in steps if step["step"] == "end"]
    assert (done.returncode, done.stderr) == (0, "")
    assert steps[0]["answersItself"] is by_itself
    assert ends == ["finished", "denied", last]


def test_without_a_terminal_it_says_so() -> None:
    """The first lines say that no one is waited for."""
    done = demo()
    assert done.returncode == 0
    assert "the demo answers the prompt itself" in done.stdout
    assert "allow-once is answered for you" in done.stdout


def test_in_a_terminal_a_key_answers() -> None:
    """The third request waits for the viewer, and runs once they allow it."""
    with terminal(*DEMO, environ=os.environ) as (process, master):
        screen = Screen(master)
        screen.wait_for("a (allow once)")
        screen.answer("a")
        screen.wait_for("sets up your own")
        assert process.wait(30) == 0
    assert "ran, exit code 0" in screen.text


def _left(folder: Path) -> list[str]:
    """Return the scratch homes in a folder, and the processes that got it as TMPDIR."""
    mark, found = f"TMPDIR={folder}\0".encode(), [one.name for one in folder.glob("sayso-demo-*")]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


_SIGNALS = pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
_SAMPLE = (("starting", signal.SIGHUP), ("asking", signal.SIGTERM), ("running", signal.SIGINT))


@pytest.mark.parametrize(
    ("begun", "number"),
    [
        pytest.param(begun, number, marks=() if (begun, number) in _SAMPLE else pytest.mark.deep)
        for begun in ("starting", "asking", "running")
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
    ],
)
def test_a_signal_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, begun: str) -> None:
    """While the gateway starts, while a prompt waits, while its command runs: everything ends."""
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with terminal(*DEMO, environ=environ) as (process, master):
        wait_until("the scratch home", lambda: _left(tmp_path)[1:], pause=0.01)
        if begun != "starting":
            screen = Screen(master)
            screen.wait_for("a (allow once)")
            if begun == "running":
                screen.answer("a")
                screen.wait_for("started")
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    wait_until("all to be gone", lambda: not _left(tmp_path))


@_SIGNALS
def test_a_signal_leaves_nothing_behind_without_a_terminal(
    tmp_path: Path, number: signal.Signals
) -> None:
    """As started by another program: repeated signals during cleanup change nothing."""
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([*DEMO, "--answer", "deny"], cwd=ROOT, env=environ, stdout=-3)
    wait_until("the scratch home", lambda: _left(tmp_path)[1:], pause=0.01)
    for _ in range(3):
        process.send_signal(number)
    assert process.wait(30) == 128 + number
    wait_until("all to be gone", lambda: not _left(tmp_path))


def test_a_temporary_folder_with_a_long_name_is_named(tmp_path: Path) -> None:
    """It says what to set, which is not SAYSO_HOME here."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    done = run(
        [*DEMO, "--answer", "deny"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "Set TMPDIR to a shorter path." in done.stderr
    assert "Traceback" not in done.stderr
