"""Count what a run holds of a disk once, and never for less than it may be."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.runner.supervisor.processes.held_files import Look, held, sends

MIB = 1024 * 1024


def look(lacks: str = "") -> Look:
    """Return a check with enough time; ``lacks``: what the disk lacks."""
    found = Look(lambda: lacks)
    found.lacking = lacks
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file of one MiB, below another folder."""
    inner = tmp_path / "own" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_bytes(b"x" * MIB)
    return tmp_path / "own"


def blocks(path: Path) -> int:
    """Return a path's use of the disk."""
    return path.stat().st_blocks * 512


def test_a_file_with_two_names_is_counted_once(folder: Path) -> None:
    """So that links make no run seem to hold more than it does; a second file does count."""
    size = blocks(folder / "inner") + blocks(folder / "inner" / "file")
    assert held(str(folder), 100 * MIB, 0, look()) == size >= MIB

    os.link(folder / "inner" / "file", folder / "again")
    assert held(str(folder), 100 * MIB, 0, look()) == size

    (folder / "second").write_bytes(b"x" * MIB)
    assert held(str(folder), 100 * MIB, 0, look()) == size + blocks(folder / "second")


def test_all_that_it_may_hold_is_not_too_much(folder: Path) -> None:
    """One byte less of a limit is; then counting stops."""
    size = held(str(folder), 100 * MIB, 0, look())

    assert held(str(folder), size, 0, look()) == size
    assert held(str(folder), size - 1, 0, look()) == size


def test_without_time_it_is_taken_to_hold_what_the_disk_grew_by(folder: Path) -> None:
    """Nothing is known of what was not checked; the control has time."""
    assert held(str(folder), 100 * MIB, 7 * MIB, look("space")) == 7 * MIB
    assert held(str(folder), 100 * MIB, 7 * MIB, look()) < 7 * MIB


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """It was removed with everything in it."""
    assert held(str(tmp_path / "gone"), MIB, 7 * MIB, look()) == 0


_TWO = "import os, threading as t; t.Thread(target=t.Event().wait).start(); os.closerange(0, 99)"


@pytest.mark.parametrize(
    ("words", "threads", "counted"),
    [
        (("/bin/sleep", "60"), 1, 0),
        ((sys.executable, "-I", "-S", "-c", f"{_TWO}; t.Event().wait()"), 2, 7 * MIB),
    ],
    ids=["one thread", "two threads"],
)
def test_threads_that_show_no_file_may_hold_some(
    tmp_path: Path, words: tuple[str, ...], threads: int, counted: int
) -> None:
    """The files may be open in whichever is not looked at; one thread alone hides none."""
    closed = ("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words)
    with subprocess.Popen(closed) as process:
        try:
            place = Path("/proc", str(process.pid))
            while len([*(place / "task").iterdir()]) < threads or [*(place / "fd").iterdir()]:
                time.sleep(0.005)
            assert held(str(tmp_path), 100 * MIB, 7 * MIB, look()) == counted
        finally:
            process.kill()


_SOCKETS = """
import socket, sys
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [2]) if sys.argv[1:] else one.send(b"x")
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("more", [(), ("with a descriptor",)])
def test_a_descriptor_that_waits_in_a_socket_is_noticed(more: tuple[str, ...]) -> None:
    """What it leads to is open nowhere else; bytes alone lead to nothing."""
    words = (sys.executable, "-I", "-S", "-c", _SOCKETS, *more)
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert sends(look()) is bool(more)
        process.communicate("\n")
