"""Tell a person at a terminal from a program that merely has our uid."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bot.intake.callers import unix_peer
from core.ipc.peer import Peer, start_ticks
from core.runner.pool import BOOTSTRAP
from tests.support.terminal import terminal


def peer(pid: int) -> Peer:
    """Return a process as its socket would name it."""
    return Peer(pid, os.getuid(), os.getgid(), start_ticks(pid))


def until(met: Callable[[], bool]) -> bool:
    """Wait up to five seconds for a condition."""
    end = time.monotonic() + 5
    while not met() and time.monotonic() < end:
        time.sleep(0.01)
    return met()


def test_the_foreground_of_a_terminal_counts() -> None:
    """A command that a person typed has the terminal's keys."""
    with terminal("sleep", "30") as (process, _):
        assert until(lambda: unix_peer.at_terminal(peer(process.pid)))


def test_a_background_job_of_a_terminal_does_not() -> None:
    """The keys go to another group; and a child in its own session has no terminal at all."""
    # Inside sh the job leads no group, so that setsid need not fork and keeps its pid.
    apart = "sh -c 'setsid sleep 30 & echo $!'"
    script = f"set -m; sleep 30 & echo $! ; {apart}; sleep 30"
    with terminal("bash", "-c", script) as (process, master):
        assert until(lambda: unix_peer.at_terminal(peer(process.pid)) or _has_child(process.pid))
        first, second = _numbers(master, 2)
        assert not unix_peer.at_terminal(peer(first))
        # Its pid is known a moment before it has left the terminal.
        assert until(lambda: not unix_peer.at_terminal(peer(second)))
        assert Path(f"/proc/{second}/stat").exists()
        for pid in (first, second):
            os.kill(pid, 9)


def test_no_terminal_no_person() -> None:
    """A program that an agent starts has none."""
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as child:
        assert not unix_peer.at_terminal(peer(child.pid))
        child.kill()


def test_a_reused_pid_is_not_the_peer(tmp_path: Path) -> None:
    """The process must be the one that connected, by its start time."""
    fields = ["S", "1", "7", "7", "34816", "7", *(str(field) for field in range(6, 40))]
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(f"7 (sh) {' '.join(fields)}\n")

    assert unix_peer.at_terminal(Peer(7, 0, 0, 19), tmp_path)
    assert not unix_peer.at_terminal(Peer(7, 0, 0, 18), tmp_path)
    assert not unix_peer.at_terminal(Peer(8, 0, 0, 19), tmp_path)


def _has_child(pid: int) -> bool:
    return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text().strip())


def _numbers(master: int, count: int) -> list[int]:
    text = b""
    end = time.monotonic() + 5
    while len(text.split()) < count and time.monotonic() < end:
        text += os.read(master, 4_096)
    return [int(word) for word in text.split()[:count]]


def test_what_a_run_started_is_known_by_its_ancestors(tmp_path: Path) -> None:
    """A supervisor among them reveals it; so does a missing one, because it cannot be checked."""
    gone = 2**22 + 1  # above every pid (proc(5), pid_max)
    supervisor = f"python\0-c\0{BOOTSTRAP}"
    _put(tmp_path, 50, 40, "sh")
    _put(tmp_path, 40, 30, supervisor)
    _put(tmp_path, 60, gone, "sh")

    assert unix_peer.is_run(50, tmp_path)
    assert unix_peer.is_run(60, tmp_path)
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as child:
        assert not unix_peer.is_run(child.pid)
        child.kill()


def test_the_first_process_of_a_container_is_nobodys_run(tmp_path: Path) -> None:
    """A gateway that itself runs below a supervisor accepts people at its terminal as people."""
    _put(tmp_path, 70, 1, "sh")
    _put(tmp_path, 1, 0, f"python\0-c\0{BOOTSTRAP}")

    assert not unix_peer.is_run(70, tmp_path)


def _put(proc: Path, pid: int, parent: int, words: str) -> None:
    """Put a process into a /proc."""
    (proc / str(pid)).mkdir()
    fields = ["S", str(parent), *("1" for _ in range(40))]
    (proc / str(pid) / "stat").write_text(f"{pid} (a) b) {' '.join(fields)}")
    (proc / str(pid) / "cmdline").write_text(words)
