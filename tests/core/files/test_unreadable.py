import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.files.unreadable import opens_folder, unreadable

PATH = Path("/home/ana/.sayso/config.json5")
_NOBODY = 65534


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOENT, "Create it, or name another file."),
        (errno.EISDIR, "Name a file, not a folder."),
        (errno.EACCES, f"If it is yours, run: chmod u+r '{PATH}'"),
        (errno.EIO, "Check the name and the disk."),
    ],
)
def test_what_to_do(number: int, advice: str) -> None:
    """The file, the system's reason, and what to do about that reason."""
    why = os.strerror(number)

    said = unreadable(PATH, OSError(number, why))

    assert said == f"{PATH} cannot be read: {why}. {advice}"


def test_without_a_number() -> None:
    """An error that names no reason of the system keeps its own words."""
    assert (
        unreadable(PATH, OSError("odd"))
        == f"{PATH} cannot be read: odd. Check the name and the disk."
    )


@pytest.fixture
def home() -> Iterator[Path]:
    """Make a folder that others can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "config.json5").write_text("{}")
        yield folder


@contextlib.contextmanager
def without_rights() -> Iterator[None]:
    """Act as a user whom modes hold: root passes all of them."""
    own = os.geteuid()
    os.seteuid(own or _NOBODY)
    try:
        yield
    finally:
        os.seteuid(own)


@pytest.mark.parametrize(
    ("closed", "mode", "advice"),
    [
        ("", 0o600, "chmod u+rwx '{home}'"),
        ("a", 0o600, "chmod u+rwx '{home}/a'"),
        ("a/b", 0o000, "chmod u+rwx '{home}/a/b'"),
        ("a/b/config.json5", 0o000, "chmod u+r '{home}/a/b/config.json5'"),
    ],
)
def test_the_outermost_closed_part_is_named(
    home: Path, closed: str, mode: int, advice: str
) -> None:
    """A file in a closed folder has a mode of its own, which changes nothing."""
    path = home / "a" / "b" / "config.json5"
    (home / closed).chmod(mode)
    with without_rights(), pytest.raises(PermissionError) as refused:
        path.read_text()
    with without_rights():
        said = unreadable(path, refused.value)
    (home / closed).chmod(0o700)

    assert said.endswith(advice.format(home=home))


def test_a_path_that_nothing_closes(home: Path) -> None:
    """The control: nothing is advised about folders that can be entered, or do not exist."""
    with without_rights():
        assert not opens_folder(home / "a" / "b" / "config.json5")
        assert not opens_folder(home / "none" / "config.json5")
