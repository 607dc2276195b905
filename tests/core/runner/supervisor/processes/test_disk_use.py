"""End a run whose private folder holds too much, and check soon enough."""

import os
import time
from pathlib import Path

import pytest

from core.runner.supervisor.processes.disk_use import DiskUse, lack, shortage
from core.runner.supervisor.protocol import Private

MIB = 1024 * 1024


def test_a_run_without_a_folder_of_its_own_is_not_checked() -> None:
    """Nothing wakes the supervisor before the run's own deadline."""
    use = DiskUse()
    use.begin(None, time.monotonic())
    deadline = time.monotonic() + 60
    assert use.until(deadline) == deadline
    assert use.excess() == ""


def test_a_run_is_checked_soon_and_ended_if_its_folder_holds_too_much(tmp_path: Path) -> None:
    """Not at once: a count takes time that is the run's."""
    use, begun = DiskUse(), time.monotonic()
    use.begin(Private(folder=str(tmp_path), bytes=MIB, spared=[]), begun - 60)
    assert use.until(begun - 100) == begun - 100
    assert use.until(begun + 60) < begun
    assert use.excess() == ""
    assert begun < use.until(begun + 60) < begun + 60

    (tmp_path / "file").write_bytes(b"x" * 2 * MIB)
    use.begin(Private(folder=str(tmp_path), bytes=MIB, spared=[]), begun - 60)
    assert use.excess().startswith("sayso: the private /tmp held more than 1 MiB")


def test_a_file_system_that_counts_no_files_lacks_none() -> None:
    """/proc has neither room nor inodes; one that is not there does not count."""
    assert shortage(["/proc", "/nowhere"]) == ("", 0)


@pytest.mark.parametrize(
    ("mib", "free", "inodes", "unused", "words", "spare"),
    [
        (10_000, 300, 0, 0, "", 44),
        (10_000, 256, 0, 0, "", 0),
        (10_000, 255, 0, 0, "less than 256 MiB", -1),
        (100, 20, 0, 0, "", 0),
        (100, 19, 0, 0, "less than 20 MiB", -1),
        (100, 50, 1_000_000, 10_000, "", 30),
        (100, 50, 1_000_000, 9_999, "too few inodes", 30),
        (100, 50, 1_000, 199, "too few inodes", 30),
        (100, 19, 1_000, 199, "too few inodes", -1),
    ],
)
def test_a_fifth_or_so_much_is_left_for_sayso(
    mib: int, free: int, inodes: int, unused: int, words: str, spare: int
) -> None:
    """The smaller of both, in bytes and in inodes."""
    status = (MIB, MIB, mib, free, free, inodes, unused, unused, 0, 255)
    assert lack(os.statvfs_result(status)) == (words, spare * MIB)
