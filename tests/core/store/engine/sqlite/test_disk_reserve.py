"""Hold disk for denials, take none that is needed, and never write to somebody else's file."""

import os
import stat
from pathlib import Path

import pytest

from core.store.engine.sqlite.disk_reserve import BALLAST_BYTES, DiskReserve

MIB = 1024 * 1024


@pytest.fixture
def reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskReserve:
    """Return the reserve of a database on a disk with plenty of room."""
    leave(monkeypatch, 100 * MIB)
    return DiskReserve(tmp_path / "state.db")


def leave(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Leave so many bytes free."""
    monkeypatch.setattr(DiskReserve, "_free", lambda _: free)


@pytest.mark.parametrize(
    ("free", "loaded", "nearly_full"),
    [
        (BALLAST_BYTES + MIB, True, False),
        (BALLAST_BYTES + MIB - 1, False, False),
        (MIB, False, False),
        (MIB - 1, False, True),
    ],
)
def test_a_disk_keeps_a_margin(
    reserve: DiskReserve,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free: int,
    *,
    loaded: bool,
    nearly_full: bool,
) -> None:
    """The reserve leaves a megabyte to what is written meanwhile; one that exists stays."""
    leave(monkeypatch, free)

    assert reserve.nearly_full() is nearly_full
    assert reserve.load() is loaded
    assert (tmp_path / "state.db.ballast").exists() is loaded
    leave(monkeypatch, 0)
    assert reserve.load() is loaded
    reserve.drop()
    assert not reserve.load()


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


def test_what_cannot_be_allocated_leaves_nothing(
    reserve: DiskReserve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk filled in between."""

    def full(*_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "posix_fallocate", full)

    assert not reserve.load()
    assert [*tmp_path.iterdir()] == []
