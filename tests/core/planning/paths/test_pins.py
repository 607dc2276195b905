"""What cannot be pinned says why."""

import os
from pathlib import Path

import pytest

from core.model.command import PinnedFile
from core.planning.paths.pins import (
    LARGEST_PIN,
    PinnedDirectory,
    Unpinned,
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
    """People are told what stands there, or that nothing does."""
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
    """Its own path and the kernel's name for it; a file needs no right to be run."""
    found = pin_file(str(folder / name), executable=True)

    assert isinstance(found, PinnedFile)
    assert (found.path, found.realpath) == (str(folder / name), os.path.realpath(folder / real))
    assert isinstance(pin_file(str(folder / "plain")), PinnedFile)
    assert isinstance(pin_directory(str(folder)), PinnedDirectory)
