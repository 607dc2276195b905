"""Remove a tree that was made to stay: deep, closed to its owner, with links out of it."""

import os
import shutil
from pathlib import Path

import pytest

from core.files.removal import remove_tree

DEEP = 1_500
"""Levels: more than Python recurses, and with these names a path longer than PATH_MAX."""


def deepen(top: Path) -> None:
    """Make a folder in a folder in a folder, each with a file and an empty folder."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("folder", dir_fd=fd)
        os.mkdir("empty", dir_fd=fd)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        below = os.open("folder", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)


def test_a_tree_of_any_depth_goes(tmp_path: Path) -> None:
    """Python's own way (control) fails, and the gateway would fail with it at each start."""
    (top := tmp_path / "top").mkdir()
    deepen(top)
    with pytest.raises(RecursionError):
        shutil.rmtree(top, ignore_errors=True)
    remove_tree(str(top))

    assert not top.exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    """Wherever they are, and whether they lead to a file or a folder."""
    (outside := tmp_path / "outside").mkdir(mode=0o750)
    (outside / "kept").touch()
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    for place in (top, top / "a", top / "a" / "b"):
        (place / "folder").symlink_to(outside)
        (place / "file").symlink_to(outside / "kept")
    remove_tree(str(top))

    assert not top.exists()
    assert [one.name for one in outside.iterdir()] == ["kept"]
    assert outside.stat().st_mode & 0o777 == 0o750


def test_what_is_no_folder_is_left_alone(tmp_path: Path) -> None:
    """A link in place of the tree leads nowhere that is emptied."""
    (outside := tmp_path / "outside").mkdir()
    (outside / "kept").touch()
    (link := tmp_path / "link").symlink_to(outside)
    remove_tree(str(link))
    remove_tree(str(tmp_path / "missing"))

    assert link.is_symlink()
    assert (outside / "kept").exists()
