"""Hold disk for denials, take none that is needed, and never write to somebody else's file."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from core.store.engine.sqlite import disk_reserve
from core.store.engine.sqlite.disk_reserve import BALLAST_BYTES, DiskReserve
from tests.support.file_size import files_of_at_most

MIB, PAGE = 1024 * 1024, 4096
ON_A_DISK = """
import json, os, sys
from pathlib import Path
from runpy import run_path

folder, filler = Path(sys.argv[1]), open(sys.argv[1] + "/filler", "wb")


def leave(free):
    filler.truncate(0)
    disk = os.statvfs(folder)
    os.posix_fallocate(filler.fileno(), 0, disk.f_bavail * disk.f_frsize - free)


seen = []
for free in map(int, sys.argv[3:]):
    reserve = run_path(sys.argv[2])["DiskReserve"](folder / "state.db")
    leave(free)
    here = [reserve.nearly_full(), reserve.load(), (folder / "state.db.ballast").exists()]
    leave(0)
    seen.append([*here, reserve.load()])
    reserve.drop()
    seen[-1].append(reserve.load())
print(json.dumps(seen))
"""
"""Print for each number of free bytes what a reserve does, on a small disk of its own."""


@pytest.fixture
def reserve(tmp_path: Path) -> DiskReserve:
    """Return the reserve of a database on a disk with plenty of room."""
    return DiskReserve(tmp_path / "state.db")


def test_a_disk_keeps_a_margin(tmp_path: Path) -> None:
    """The reserve leaves a megabyte to what is written meanwhile; one that exists stays."""
    free = (BALLAST_BYTES + MIB, BALLAST_BYTES + MIB - PAGE, MIB, MIB - PAGE)
    private = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "-r")
    mount = f'mount -t tmpfs -o size={16 * MIB} tmpfs "$1"; exec "$0" -I -S -c "$2" "$1" "${{@:3}}"'
    words = (sys.executable, str(tmp_path), ON_A_DISK, str(disk_reserve.__file__), *map(str, free))
    done = subprocess.run(
        (*private, "bash", "-ec", mount, *words), capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    # nearly full, loaded, the file exists; on the full disk still loaded; not again once dropped
    assert json.loads(done.stdout) == [
        [False, True, True, True, False],
        [False, False, False, False, False],
        [False, False, False, False, False],
        [True, False, False, False, False],
    ]


def test_the_room_is_allocated_and_private(reserve: DiskReserve, tmp_path: Path) -> None:
    """A hole would reserve nothing."""
    assert reserve.load()
    status = (tmp_path / "state.db.ballast").stat()

    assert status.st_size == BALLAST_BYTES <= status.st_blocks * 512
    assert stat.S_IMODE(status.st_mode) == 0o600


def test_a_link_or_a_short_file_is_replaced(reserve: DiskReserve, tmp_path: Path) -> None:
    """Whatever a link leads to is left alone."""
    path, other = tmp_path / "state.db.ballast", tmp_path / "other"
    other.write_bytes(b"x")
    path.symlink_to(other)
    assert reserve.load()
    assert (path.is_symlink(), other.read_bytes()) == (False, b"x")

    path.write_bytes(b"x")
    assert reserve.load()
    assert path.stat().st_size == BALLAST_BYTES


def test_what_cannot_be_allocated_leaves_nothing(reserve: DiskReserve, tmp_path: Path) -> None:
    """The kernel refuses although the disk has room."""
    with files_of_at_most(BALLAST_BYTES - 1):
        assert not reserve.load()
    assert [*tmp_path.iterdir()] == []
