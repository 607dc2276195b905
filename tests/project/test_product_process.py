"""Check that the fork server starts what an exec would start, and leaves nothing behind."""

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
from tests.support.terminal import Screen, terminal
from tests.support.waiting import wait_until

BOT = (sys.executable, "-m", "bot")
PROBE = (sys.executable, "-m", "tests.support.process_state")
PIPES: dict[str, Any] = {
    "stdin": subprocess.PIPE,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
}
KEPT = {name: value for name, value in os.environ.items() if name != "SAYSO_HOME"}


def probed(**options: Any) -> list[Any]:
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
    how: dict[str, Any] = {"input": given} if isinstance(given, str) else {"stdin": given}
    how |= {"cwd": ROOT if session else tmp_path, "start_new_session": session}
    how["env"] = {**KEPT, "ONE": "1\n\udcff"}
    if not session:
        how["env"]["PYTHONPATH"] = str(ROOT)
    monkeypatch.chdir(tmp_path.parent)

    forked, real = (probed(real=real, **how) for real in (False, True))

    assert forked == real
    assert forked[1:] == [["thread", "atexit"], "", 7]


def test_at_a_terminal_too() -> None:
    """In its foreground, where standard output is flushed at each line."""
    shown: list[str] = []
    for real in (False, True):
        with terminal(*PROBE, "0", environ=dict(os.environ), real=real) as (process, master):
            os.write(master, b"\x04")
            assert process.wait(30) == 0
            screen = Screen(master)
            screen.wait_for("thread\r\natexit\r\n")
            shown.append(screen.text)
    assert '"foreground": true' in shown[0]

    assert shown[0] == shown[1]
    assert shown[0].endswith("thread\r\natexit\r\n")


def test_the_environment_of_the_tests_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child has what it is given, whatever its server and the tests have."""
    run([*PROBE, "0"], stdin=subprocess.DEVNULL, capture_output=True)
    monkeypatch.setenv("LATER", "1")

    own = {"OWN": "2", "HOME": "/nonexistent"}
    with start([*PROBE, "0"], env=own, **PIPES) as process:
        assert isinstance(process, Forked)
        state = json.loads(process.communicate(timeout=20)[0].splitlines()[0])

    assert state["environ"] == probed(real=True, env=own, stdin=-3)[0]["environ"]
    assert {**state["environ"], **own} == state["environ"]
    assert len(state["environ"]) <= len(own) + 1


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
        two.send_signal(signal.SIGTERM)  # to no one: it is reaped
        out, _ = one.communicate(b"", timeout=20)

    assert (one.returncode, two.returncode) == (3, -signal.SIGKILL)
    assert out.endswith(b"thread\natexit\n")


def test_a_process_stays_until_it_is_waited_for() -> None:
    """Until then no other process has its pid."""
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
    """Killing the tests leaves no server, nor what is bound to it; an interrupt ends none."""
    code = (
        "import os, signal, subprocess, sys\n"
        "from tests.support.product_process import run, server, start\n"
        "run([sys.executable, '-m', 'bot', '--version'], capture_output=True)\n"
        "pid = server(os.getpid()).process.pid\n"
        "os.kill(pid, signal.SIGINT)\n"
        "run([sys.executable, '-m', 'bot', '--version'], capture_output=True)\n"
        "how = {'stdin': subprocess.PIPE, 'stdout': subprocess.DEVNULL, 'bound': True}\n"
        "probe = start([sys.executable, '-m', 'tests.support.process_state', '0'], **how)\n"
        "stdin = os.dup(probe.stdin.fileno()); os.set_inheritable(stdin, True)\n"
        "holds = subprocess.Popen(['sleep', '60'], pass_fds=[stdin], stdout=-3)\n"
        "print(pid, probe.pid, holds.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    *ours, holds = map(int, killed.stdout.split())

    assert killed.returncode == -signal.SIGKILL
    wait_until("their end", lambda: not any(map(lives, ours)))
    assert lives(holds), "which held the standard input of the probe open"
    os.kill(holds, signal.SIGKILL)


def lives(pid: int) -> bool:
    """Return whether a process exists that has not ended."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "change",
    [
        {"real": True},
        {"umask": 0o077},
        {"env": {**KEPT, "PYTHONUTF8": "1"}},
        {"env": {**KEPT, "LC_ALL": "POSIX"}},
        {"env": {**KEPT, "LD_LIBRARY_PATH": "/nonexistent"}},
        {"env": {**KEPT, "ONE": "x" * 70_000, "TWO": "x" * 70_000}},
    ],
)
def test_what_a_fork_cannot_give_is_started_by_exec(change: dict[str, Any]) -> None:
    """What an interpreter or an import has read by then, and what a request cannot express."""
    with start([*BOT, "--version"], stdout=subprocess.DEVNULL, **change) as process:
        assert type(process) is subprocess.Popen
    assert process.returncode == 0


def test_another_copy_of_the_product_is_started_by_exec(tmp_path: Path) -> None:
    """What is loaded is not what would run there."""
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "__init__.py").touch()
    (tmp_path / "bot" / "__main__.py").write_text("print('another')")

    done = run([*BOT, "--version"], cwd=tmp_path, capture_output=True, text=True)

    assert done.stdout == "another\n"


def test_other_programs_are_started_by_exec() -> None:
    """Only ours is loaded."""
    for words in (["true"], [sys.executable, "-c", "pass"], ["env", *BOT, "--version"]):
        with start(words, stdout=subprocess.DEVNULL) as process:
            assert type(process) is subprocess.Popen
        assert process.returncode == 0
