"""Keep sandboxed runs' folders in one that is this user's alone, and remove them afterwards."""

import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.executor import private_folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this user a home of its own."""
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(tmp_path)))
    return tmp_path


def test_made_and_removed(home: Path) -> None:
    """It is closed to others, contains the folder that a mount needs, and goes with its content."""
    path = Path(private_folder.make("run1", "deep/er"))

    assert path == home / ".sayso-sandbox" / "run1"
    assert (path / "deep/er").is_dir()
    assert [one.stat().st_mode & 0o777 for one in (path, path.parent)] == [0o700, 0o700]
    (path / "deep/left").write_text("x")
    (path / "deep").chmod(0)
    private_folder.remove("run1")
    private_folder.remove("run1")
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", "a" * 65, "x\n"])
def test_a_name_that_leads_elsewhere_is_refused(home: Path, name: str) -> None:
    """Neither a run's name nor its content can leave the folder."""
    (home / "x").mkdir()
    with pytest.raises(ValueError, match="name"):
        private_folder.make(name, "")
    with pytest.raises(ValueError, match="relative path"):
        private_folder.make("run1", "a/../../x")
    private_folder.remove(name)
    assert (home / "x").is_dir()


def test_a_link_in_the_place_of_the_folder_is_refused(home: Path) -> None:
    """What another user put there is not used, and not removed; the control is the test above."""
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    (home / ".sayso-sandbox").symlink_to(elsewhere)
    with pytest.raises(FileExistsError):
        private_folder.make("run1", "")
    assert os.listdir(elsewhere) == []  # noqa: PTH208 - it is about names
