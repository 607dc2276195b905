"""Sweep each folder of a workspace."""

import os
import stat
from pathlib import Path

from core.hosts.sandbox.filesystem.sweep import Sweep


def _swept(folder: Path) -> Sweep:
    root = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        sweep = Sweep(root, 0)
        while not sweep.go_on(1):
            pass
        return sweep
    finally:
        sweep.close()
        os.close(root)


def test_a_marked_file_is_found_at_any_depth(tmp_path: Path) -> None:
    """Below the top as well as in it; other files stay as they are."""
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for file in (tmp_path / "top", below / "deep", below / "plain"):
        file.touch()
        file.chmod(0o755 if file.name == "plain" else 0o4755)

    sweep = _swept(tmp_path)

    assert ["a/b/deep", "top"] == sorted(sweep.cleared)
    assert sweep.complete
    assert not (below / "deep").stat().st_mode & stat.S_ISUID


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    """What is outside the workspace is not the run's."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "theirs").touch()
    (outside / "theirs").chmod(0o4755)
    (inside / "link").symlink_to(outside)

    assert _swept(inside).cleared == []
    assert (outside / "theirs").stat().st_mode & stat.S_ISUID
