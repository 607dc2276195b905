"""Count what a run holds of a disk once, and never for less than it may be."""

import os
from pathlib import Path

import pytest

from core.runner.supervisor.processes.held_files import Look, held

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
