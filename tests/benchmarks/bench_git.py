"""Measure what checking the repository around a git line costs, each time it is judged or run.

Goals: at most 2.5 ms if it has to be read again, 150 µs if nothing has changed. What must hold on
any machine is a ratio: to looking up as many files in the same run as the largest check does.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.planning.git import folder_listing
from core.planning.git.config import read_settings
from core.planning.git.submodules import _of
from core.planning.steering import steering
from tests.support.git_repositories import git, repository
from tests.support.pace import slowness, words
from tests.support.runs import planned, request

LINES = ("git status", "git diff HEAD -- a", "git log --oneline -5", "git add a", "git fetch")
FILES, ROUNDS = 500, 300
GOAL_ANEW_US, GOAL_SAME_US = 2500.0, 150.0
LOOKUPS = 50
"""Files and folders that `git fetch` looked up in two repositories where nothing changed."""
MOST_SAME = 5.0
"""Times as long as the lookups alone: 2.1 where it was set."""


def large_repository(folder: Path, *, submodule: bool) -> Path:
    """Make a repository of some hundred files, with a remote and perhaps a submodule."""
    place = repository(folder)
    for number in range(FILES):
        (place / f"file{number}").write_text("one\n")
    if submodule:
        repository(place / "library")
    git(place, "remote", "add", "origin", "https://github.com/a/b.git")
    git(place, "add", ".")
    git(place, "commit", "-qm", "second")
    return place


def microseconds(work: Callable[[], object], before: Callable[[], object]) -> float:
    """Return the median time of a call in µs; ``before``, run before each, is not counted."""
    found = []
    for _ in range(ROUNDS):
        before()
        begin = time.perf_counter_ns()
        work()
        found.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(found)


def forget(place: Path) -> None:
    """Have everything read again, as after a change."""
    os.utime(place / ".git/index")
    read_settings.cache_clear()
    _of.cache_clear()
    folder_listing.forget()


def look_up(place: Path) -> None:
    """Look up one file again and again: the floor."""
    path = str(place / ".git/config")
    for _ in range(LOOKUPS):
        os.lstat(path)


def measured(place: Path) -> list[tuple[str, float, float]]:
    """Return the time of a check for each line: where nothing changed, and read again."""
    rows = []
    for line in LINES:
        command = planned(request(line, cwd=place)).commands[0]
        assert command.steered == ""

        def look() -> str:
            return steering(command, str(place))  # noqa: B023 - called at once

        same = microseconds(look, lambda: None)
        rows.append((line, same, microseconds(look, lambda: forget(place))))
    return rows


@pytest.mark.benchmark
def test_looking_at_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check as judging does, with and without what an earlier check has read."""
    alone = measured(large_repository(tmp_path / "alone", submodule=False))
    place = large_repository(tmp_path / "place", submodule=True)
    rows = measured(place)
    floor = microseconds(lambda: look_up(place), lambda: None)
    worst = max(row[1] for row in rows)
    slow = slowness()
    with capsys.disabled():
        for title, found in (("alone", alone), ("with a submodule", rows)):
            print(f"\n{title:<24} {'unchanged µs':>13} {'read anew µs':>13}")
            for line, same, anew in found:
                print(f"{line:<24} {same:13.1f} {anew:13.1f}")
        print(f"(goals <= {GOAL_SAME_US:.0f} µs and <= {GOAL_ANEW_US:.0f} µs)")
        print(words(slow))
        print(f"{LOOKUPS} lookups {floor:.1f} µs; the slowest look is {worst / floor:.1f} x that")
    assert worst <= MOST_SAME * floor
    assert max(row[2] for row in rows) <= GOAL_ANEW_US * slow
