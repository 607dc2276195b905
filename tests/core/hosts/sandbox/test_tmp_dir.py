"""Remove the private folder of a run, whatever the run did to it."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.hosts.sandbox.tmp_dir import Scratch
from core.model.identity import ApprovalId
from tests.support.gateway_process import ROOT
from tests.support.waiting import until

_AS_NOBODY = """
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from core.hosts.sandbox import tmp_dir
import shutil, logging
run = Path({run!r})
os.setgid(65534)
os.setuid(65534)
(run / "kept" / "deep").mkdir(parents=True)
(run / "kept" / "deep" / "file").write_bytes(b"x")
(run / "way").symlink_to({outside!r})
os.chmod(run / "kept" / "deep", 0)
os.chmod(run / "kept", 0)
os.chmod(run, 0)
if {mended!r}:
    tmp_dir._remove_all(run)
else:
    shutil.rmtree(run, ignore_errors=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that any user can reach; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="sayso-scratch-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _left(folder: Path, *, mended: bool) -> tuple[bool, int]:
    """Return whether the folder remains, and the rights of a folder that a link in it names."""
    run, _ = _removed(folder, mended=mended)
    return run.exists(), (folder / "outside").stat().st_mode & 0o777


def _removed(folder: Path, *, mended: bool, held: bool = False) -> tuple[Path, str]:
    """Have a user remove a run's folder; ``held``: from a folder of root's. Return what it logs."""
    run, outside = folder / "runs" / "run", folder / "outside"
    run.mkdir(parents=True)
    run.parent.chmod(0o755)
    outside.mkdir()
    outside.chmod(0o755)
    for each in (run, outside, *(() if held else (run.parent,))):
        os.chown(each, 65534, 65534)
    code = _AS_NOBODY.format(root=str(ROOT), run=str(run), outside=str(outside), mended=mended)
    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, check=True, timeout=30, capture_output=True, text=True)
    return run, ended.stderr


def test_a_folder_that_was_closed_goes(open_folder: Path) -> None:
    """A command that removes the rights leaves nothing, and a link in it is not followed."""
    assert _left(open_folder, mended=True) == (False, 0o755)


def test_without_opening_it_would_stay(open_folder: Path) -> None:
    """The control: plain removal leaves the folder, and a disk could be filled for good."""
    assert _left(open_folder, mended=False)[0]


@pytest.mark.parametrize("held", [False, True])
def test_only_what_stays_is_reported(open_folder: Path, *, held: bool) -> None:
    """Nothing else would remove it, so its path is in the log."""
    run, logged = _removed(open_folder, mended=True, held=held)

    assert run.exists() is held
    assert logged == (
        f"{run} of a run that has ended cannot be removed; remove it by hand\n" if held else ""
    )


async def after(scratch: Scratch, run: str, holds: str = "") -> tuple[int, list[str]]:
    """Give a run its folder; return the folder's number, and what is in it at first."""
    with scratch.made(ApprovalId(run), holds) as path:
        found = path.stat().st_ino, sorted(str(one.relative_to(path)) for one in path.rglob("*"))
        (path / "left").write_bytes(b"x")
    await asyncio.sleep(0)  # what the end of a run leaves to the loop
    return found


async def test_a_folder_is_ready_for_the_next_run(tmp_path: Path) -> None:
    """It is a new one each time, never used before, and none remains in the end."""
    scratch = Scratch(tmp_path / "runs")
    await after(scratch, "0first")
    (spare,) = (tmp_path / "runs").glob("spare*")
    held = os.open(spare, os.O_PATH)  # a file system reuses a freed inode's number
    try:
        ready = {os.fstat(held).st_ino}
        second, third = await after(scratch, "0second"), await after(scratch, "0third")
        await scratch.settle()
    finally:
        os.close(held)

    assert ready == {second[0]}
    assert second[1] == third[1] == []
    assert second[0] != third[0]
    assert list((tmp_path / "runs").iterdir()) == []


async def test_what_is_ready_fits_the_place(tmp_path: Path) -> None:
    """Only runs in the same place see what a workspace is mounted at."""
    scratch = Scratch(tmp_path / "runs")
    places = ("a/work", "", "a/work", "b", "", "b")
    found = [(await after(scratch, f"0{n}", holds))[1] for n, holds in enumerate(places)]
    await scratch.settle()

    assert found == [[], [], ["a", "a/work"], [], [], ["b"]]


async def test_few_folders_wait(tmp_path: Path) -> None:
    """However many places runs are in."""
    scratch = Scratch(tmp_path / "runs")
    for place in range(30):
        await after(scratch, f"0{place}", f"place{place}")
    await until(lambda: len(list((tmp_path / "runs").iterdir())) == 8)  # threads remove the others
    waiting = {one.name for one in (tmp_path / "runs").glob("spare*/*")}
    await scratch.settle()

    assert waiting == {f"place{n}" for n in range(22, 30)}
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_folder_that_was_taken_away_is_made_anew(tmp_path: Path) -> None:
    """A tidy-minded administrator prevents no run from starting."""
    scratch = Scratch(tmp_path / "runs")
    await after(scratch, "0first")
    for one in (tmp_path / "runs").glob("spare*"):
        one.rmdir()
    assert (await after(scratch, "0second"))[1] == []
    await scratch.settle()


async def test_a_gateway_starts_whatever_a_run_left(tmp_path: Path) -> None:
    """A folder that is deeper than Python recurses would prevent it from starting for good."""
    fd = os.open(tmp_path, os.O_RDONLY)
    for name in ("runs", "0run", *["deep"] * 1_500):
        os.mkdir(name, dir_fd=fd)
        fd, above = os.open(name, os.O_RDONLY, dir_fd=fd), fd
        os.close(above)
    os.close(fd)
    scratch = Scratch(tmp_path / "runs")
    await scratch.clear()
    await scratch.settle()

    assert not (tmp_path / "runs").exists()
