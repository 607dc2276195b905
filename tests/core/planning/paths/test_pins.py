"""Say why something cannot be pinned."""

import os
import time
from pathlib import Path

import pytest

from core.model.command import PinnedDirectory, PinnedFile
from core.planning.paths.pins import (
    LARGEST_PIN,
    HashingLimit,
    Unpinned,
    hashing_at_most,
    pin_directory,
    pin_file,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a file, a program, a link to it and a file that is too large."""
    (tmp_path / "plain").write_text("x")
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    (tmp_path / "link").symlink_to("tool")
    (tmp_path / "loop").symlink_to("loop")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST_PIN + 1)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent", "does not exist"),
        ("plain/below", "cannot be opened (Not a directory)"),
        ("loop", "cannot be opened (Too many levels of symbolic links)"),
        ("nul\0", "is not a valid path"),
        ("", "is not a regular file"),
        ("large", f"is larger than {LARGEST_PIN} bytes, too large to be pinned"),
        ("plain", "is not executable"),
    ],
)
def test_a_file_that_is_not_pinned_says_why(folder: Path, name: str, why: str) -> None:
    """People are told what exists there, or that nothing does."""
    found = pin_file(f"{folder}/{name}", executable=True)

    assert isinstance(found, Unpinned)
    assert found.why == why


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent", "does not exist"),
        ("plain", "cannot be opened (Not a directory)"),
        ("nul\0", "is not a valid path"),
    ],
)
def test_a_folder_that_is_not_pinned_says_why(folder: Path, name: str, why: str) -> None:
    """As a file does."""
    found = pin_directory(f"{folder}/{name}")

    assert isinstance(found, Unpinned)
    assert found.why == why


@pytest.mark.parametrize(("name", "real"), [("tool", "tool"), ("link", "tool")])
def test_a_program_is_pinned_by_where_it_leads(folder: Path, name: str, real: str) -> None:
    """Its own path and the kernel's name for it; a file needs no right to be executed."""
    found = pin_file(str(folder / name), executable=True)

    assert isinstance(found, PinnedFile)
    assert (found.path, found.realpath) == (str(folder / name), os.path.realpath(folder / real))
    assert isinstance(pin_file(str(folder / "plain")), PinnedFile)
    assert isinstance(pin_directory(str(folder)), PinnedDirectory)


@pytest.mark.parametrize("name", [b"\xff", b"link"])
def test_a_file_whose_name_cannot_be_shown_is_not_pinned(tmp_path: Path, name: bytes) -> None:
    """It is not UTF-8, also if a plain name leads to it; no one could be shown what runs."""
    real = os.fsencode(tmp_path) + b"/\xff"
    Path(os.fsdecode(real)).write_text("x")
    (tmp_path / "link").symlink_to(os.fsdecode(real))

    found = pin_file(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))

    assert isinstance(found, Unpinned)
    assert found.why == "was removed meanwhile, or its real path is not UTF-8"


def test_a_file_that_is_removed_meanwhile_is_not_pinned(folder: Path) -> None:
    """Its content still exists for a process that has it open, under a name of nothing."""
    with (folder / "plain").open() as opened:
        path = f"/proc/self/fd/{opened.fileno()}"
        before = pin_file(path)
        (folder / "plain").unlink()
        after = pin_file(path)

    assert isinstance(before, PinnedFile)
    assert isinstance(after, Unpinned)
    assert after.why == "was removed meanwhile, or its real path is not UTF-8"


@pytest.mark.parametrize("name", ["/proc/self/pagemap", "/proc/self/maps", "/proc/kmsg"])
def test_what_the_kernel_makes_as_it_is_read_is_not_read_to_its_end(name: str) -> None:
    """It has no size, and may have 256 GiB; no one can be shown what it will contain."""
    found = pin_file(name)

    assert isinstance(found, Unpinned)
    assert found.why.startswith("cannot be read to pin it (")


def test_no_more_is_hashed_than_is_given(tmp_path: Path) -> None:
    """What is too much is not read; what is remembered costs nothing."""
    files = [tmp_path / str(number) for number in range(3)]
    for number, file in enumerate(files):
        file.write_bytes(bytes([number]) * 1_000)
    time.sleep(0.05)  # younger ones are not remembered
    assert isinstance(pin_file(str(files[0])), PinnedFile)

    with hashing_at_most(1_999):
        assert isinstance(pin_file(str(files[0])), PinnedFile)
        assert isinstance(pin_file(str(files[1])), PinnedFile)
        with pytest.raises(HashingLimit):
            pin_file(str(files[2]))
    assert isinstance(pin_file(str(files[2])), PinnedFile)
