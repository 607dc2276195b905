"""What the fork server starts is what an exec would have started, and it leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import product_process
from tests.support.product_process import ROOT, Forked, run, start
from tests.support.waiting import wait_until

BOT = (sys.executable, "-m", "bot")
PROBE = (sys.executable, "-m", "tests.support.process_state")
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
KEPT = {name: value for name, value in os.environ.items() if name != "SAYSO_HOME"}


def probed(**options: Any) -> list[object]:
    """Return what a probe prints, its errors and its code."""
    done = run([*PROBE, "7", "two words", "é\n"], capture_output=True, text=True, **options)
    state, *more = done.stdout.splitlines()
    return [json.loads(state), more, done.stderr, done.returncode]


@pytest.mark.parametrize("session", [False, True])
@pytest.mark.parametrize("given", [subprocess.DEVNULL, None, "text\r\n"])
def test_a_fork_is_what_an_exec_is(
    given: Any, session: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words, variables, folder, descriptors, streams, signals, limits, and how it ends."""
    how = {"input": given} if isinstance(given, str) else {"stdin": given}
    how |= {"cwd": ROOT, "env": {**KEPT, "ONE": "1\n\udcff"}, "start_new_session": session}
    monkeypatch.chdir(tmp_path)

    forked, real = (probed(real=real, **how) for real in (False, True))

    assert forked == real
    assert forked[1:] == [["thread", "atexit"], "", 7]


def test_at_a_terminal_too() -> None:
    """Standard output is then flushed at each line."""
    shown, how = [], {"env": dict(os.environ), "stdin": subprocess.DEVNULL}
    for real in (False, True):
        master, slave = os.openpty()
        done = run([*PROBE, "0"], real=real, stdout=slave, stderr=slave, **how)
        os.close(slave)
        assert done.returncode == 0
        shown.append(os.read(master, 65_536))
        os.close(master)

    assert shown[0] == shown[1]
    assert shown[0].endswith(b"thread\r\natexit\r\n")


def test_the_environment_of_the_tests_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child has what it is given, whatever its server and the tests have."""
    run([*PROBE, "0"], stdin=subprocess.DEVNULL, capture_output=True)
    monkeypatch.setenv("LATER", "1")

    done = run([*PROBE, "0"], env={**KEPT, "OWN": "2"}, input="", capture_output=True, text=True)

    state = json.loads(done.stdout.splitlines()[0])
    assert state["environ"] == {**KEPT, "OWN": "2"}


def test_two_at_once_each_end_as_they_do() -> None:
    """Each has its own streams; one is killed, one ends; both are seen, in any order."""
    with start([*PROBE, "3"], **PIPES) as one, start([*PROBE, "4"], **PIPES) as two:
        assert isinstance(one, Forked)
        assert one.pid != two.pid
        assert (one.poll(), two.poll()) == (None, None)
        with pytest.raises(subprocess.TimeoutExpired):
            one.wait(0.05)
        two.kill()
        assert two.wait(20) == -signal.SIGKILL
        two.send_signal(signal.SIGTERM)  # to nobody: it is reaped
        out, _ = one.communicate(b"", timeout=20)

    assert (one.returncode, two.returncode) == (3, -signal.SIGKILL)
    assert out.endswith(b"thread\natexit\n")


def test_a_process_stays_until_it_is_waited_for() -> None:
    """Until then its number is nobody else's."""
    process = start([*PROBE, "5"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    about = Path(f"/proc/{process.pid}/stat")

    wait_until("its end", lambda: ") Z " in about.read_text())
    assert process.wait() == 5
    assert not about.exists()


def test_a_server_keeps_no_descriptor() -> None:
    """What it was sent is closed once the child has it."""
    run([*BOT, "--version"], capture_output=True)
    pid = product_process.server(os.getpid()).process.pid
    before = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208 - only compared

    for _ in range(3):
        assert run([*BOT, "--version"], capture_output=True).returncode == 0

    assert os.listdir(f"/proc/{pid}/fd") == before  # noqa: PTH208 - only compared


def test_a_server_dies_with_the_tests_that_started_it() -> None:
    """Whoever kills the tests leaves no server, nor one that an interrupt has ended before."""
    code = (
        "import os, signal, sys; from tests.support.product_process import run, server\n"
        "run([sys.executable, '-m', 'bot', '--version'], capture_output=True)\n"
        "pid = server(os.getpid()).process.pid\n"
        "os.kill(pid, signal.SIGINT)\n"
        "run([sys.executable, '-m', 'bot', '--version'], capture_output=True)\n"
        "print(pid, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )

    assert killed.returncode == -signal.SIGKILL
    about = Path(f"/proc/{int(killed.stdout)}/stat")
    wait_until("its end", lambda: not about.exists() or ") Z " in about.read_text())


@pytest.mark.parametrize(
    "change",
    [
        {"real": True},
        {"umask": 0o077},
        {"env": {**KEPT, "HOME": "/nonexistent"}},
        {"env": {**KEPT, "PYTHONUTF8": "1"}},
        {"env": {**KEPT, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": "/nonexistent"}},
        {"env": {**KEPT, "ONE": "x" * 70_000, "TWO": "x" * 70_000}},
    ],
)
def test_what_a_fork_cannot_give_is_started_by_exec(change: dict[str, Any]) -> None:
    """What an interpreter or an import has read by then, and what a request has no word for."""
    with start([*BOT, "--version"], stdout=subprocess.DEVNULL, **change) as process:
        assert type(process) is subprocess.Popen
    assert process.returncode == 0


def test_other_programs_are_started_by_exec() -> None:
    """Only ours is loaded."""
    for words in (["true"], [sys.executable, "-c", "pass"], ["env", *BOT, "--version"]):
        with start(words, stdout=subprocess.DEVNULL) as process:
            assert type(process) is subprocess.Popen
        assert process.returncode == 0
