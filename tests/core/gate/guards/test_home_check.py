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


def beside(database: Path) -> Path:
    """Return the file of the log, where what is stored is first."""
    return database.with_name("state.db-wal")


def _linked(database: Path) -> None:
    """Put a link in its place: after a restart, the log would be looked for beside its target."""
    database.rename(database.with_name("moved"))
    database.symlink_to("moved")


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
        (_linked, "is not the file that the gateway opened"),
        (lambda database: database.write_bytes(b""), "was emptied"),
        (lambda database: beside(database).unlink(), "state.db-wal cannot be checked: No such"),
        (lambda database: _renamed(beside(database)), "state.db-wal is not the file"),
        (lambda database: beside(database).write_bytes(b""), ""),  # a checkpoint empties it
    ],
)
def test_a_database_that_is_no_longer_the_one_that_is_open(
    tmp_path: Path, change: Callable[[Path], object], words: str
) -> None:
    """What is stored would be gone after a restart, answers and claims of runs included."""
    tmp_path.chmod(0o700)
    database = tmp_path / "state.db"
    database.write_bytes(b"rows")
    beside(database).write_bytes(b"more rows")
    check = HomeCheck.of(tmp_path, database)
    change(database)
    fault = check.fault()

    assert words in fault
    assert bool(fault) is bool(words)
    assert not fault or "Stop the gateway" in fault


def test_a_database_behind_a_link(tmp_path: Path) -> None:
    """It may be on another disk; the link must lead to it, and its log is beside it."""
    tmp_path.chmod(0o700)
    database, link, disk = (tmp_path / name for name in ("disk/state.db", "state.db", "disk"))
    disk.mkdir()
    database.write_bytes(b"rows")
    beside(database).write_bytes(b"more rows")
    link.symlink_to(database)
    check = HomeCheck.of(tmp_path, link)
    before = check.fault()
    beside(database).unlink()
    without_log = check.fault()
    link.unlink()
    without_link = check.fault()

    assert before == ""
    assert f"{beside(database)} cannot be checked" in without_log
    assert f"{link} cannot be checked" in without_link
