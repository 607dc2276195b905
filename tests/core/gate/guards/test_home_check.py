"""Notice what happened to the home of a running gateway."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from core.gate.guards.home_check import HomeCheck

NOBODY = 65534


def _replace(home: Path) -> None:
    home.rename(home.with_name("old"))
    home.mkdir(0o700)


def _link(home: Path) -> None:
    home.rename(home.with_name("old"))
    home.symlink_to("old")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: None, ""),
        (_link, ""),  # the same folder
        (lambda home: home.chmod(0o500), ""),
        (lambda home: home.chmod(0o710), "(mode 0710), where they could change"),
        (lambda home: home.chmod(0o701), "(mode 0701), where they could change"),
        (_replace, "is not the folder that the gateway was started with"),
        (lambda home: home.rmdir(), "cannot be checked: No such file or directory. Restore it"),
    ],
)
def test_what_is_wrong_with_the_home(
    tmp_path: Path, change: Callable[[Path], None], words: str
) -> None:
    """It says what to do."""
    home = tmp_path / "home"
    home.mkdir(0o700)
    check = HomeCheck.of(home)
    change(home)
    fault = check.fault()

    assert words in fault
    assert bool(fault) is bool(words)


def test_a_home_of_another_user_is_told(tmp_path: Path) -> None:
    """Its owner could let others in."""
    tmp_path.chmod(0o700)
    check = HomeCheck.of(tmp_path)
    os.chown(tmp_path, NOBODY, -1)
    fault = check.fault()
    os.chown(tmp_path, os.geteuid(), -1)

    assert f"now belongs to uid {NOBODY}" in fault


def _renamed(database: Path) -> None:
    """Put another file in its place, as a restore under a running gateway does."""
    other = database.with_name("backup")
    other.write_bytes(b"rows")
    other.rename(database)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: None, ""),
        (lambda database: database.write_bytes(b"more"), ""),
        (lambda database: database.unlink(), "cannot be checked: No such file or directory"),
        (_renamed, "is not the file that the gateway opened"),
    ],
)
def test_a_database_that_is_no_longer_the_one_that_is_open(
    tmp_path: Path, change: Callable[[Path], object], words: str
) -> None:
    """What is stored would be gone after a restart, answers and claims of runs included."""
    tmp_path.chmod(0o700)
    database = tmp_path / "state.db"
    database.write_bytes(b"rows")
    check = HomeCheck.of(tmp_path, database)
    change(database)
    fault = check.fault()

    assert words in fault
    assert bool(fault) is bool(words)
    assert not fault or "Stop the gateway" in fault
