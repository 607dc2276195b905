"""Tell what does not exist from what could not be looked at."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

from core.files.lookup import check_looked, is_file, is_folder, is_there, open_regular, status_of


def test_what_is_there_is_told(tmp_path: Path) -> None:
    """Files, folders and links are told apart, and from nothing."""
    (tmp_path / "file").touch()
    (tmp_path / "loose").symlink_to("nowhere")
    (tmp_path / "link").symlink_to("file")
    names = ("", "file", "link", "loose", "gone", "file/below", "a\0b", "n" * 300)

    found = {name: f"{tmp_path}/{name}" for name in names}

    assert [name for name in names if is_there(found[name])] == ["", "file", "link", "loose"]
    assert [name for name in names if is_file(found[name])] == ["file", "link"]
    assert [name for name in names if is_folder(found[name])] == [""]
    assert status_of(found["gone"]) is None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO])
def test_what_says_nothing_about_a_file_is_raised(number: int) -> None:
    """A lack of descriptors or memory, or a failing disk, never counts as nothing."""
    with pytest.raises(OSError, match=os.strerror(number)):
        check_looked(OSError(number, os.strerror(number)))


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.ENOTCONN, errno.ELOOP])
def test_what_holds_for_everybody_is_not_raised(number: int) -> None:
    """Control: a file that is gone or closed to us is so to what we run."""
    check_looked(OSError(number, os.strerror(number)))


@pytest.mark.timeout(20)
def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    """A pipe without a writer, one with, a folder, a socket: at once, and nothing stays open."""
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "fed"):
        os.mkfifo(tmp_path / name)
    fed = os.open(tmp_path / "fed", os.O_RDWR)
    before = len(list(Path("/proc/self/fd").iterdir()))

    with open_regular(str(tmp_path / "file")) as file:
        content = file.read()
    for name in ("pipe", "fed", "folder", "gone"):
        with pytest.raises(OSError, match=r"not a regular file|No such file"):
            open_regular(str(tmp_path / name))
    after = len(list(Path("/proc/self/fd").iterdir()))
    os.close(fed)

    assert (content, after) == (b"text", before)


def test_a_file_that_its_owner_leases_is_refused_at_once(tmp_path: Path) -> None:
    """An open that waits would take 45 s (fcntl(2), "Leases")."""
    with (tmp_path / "file").open("w+b") as leased:
        fcntl.fcntl(leased, fcntl.F_SETSIG, signal.SIGURG)  # which nobody handles
        fcntl.fcntl(leased, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        begun = time.monotonic()
        with pytest.raises(BlockingIOError):
            open_regular(str(tmp_path / "file"))

    assert time.monotonic() - begun < 10
