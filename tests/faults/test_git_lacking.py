"""No git line that is let pass fetches missing objects from where its repository says."""

import os
import random
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.decision import Decision
from tests.faults.git_oracle.missing import (
    LACKING,
    PLACES,
    QUICK,
    STATES,
    WAYS,
    by_itself,
    lacking,
    whole,
)
from tests.faults.git_oracle.oracle import Oracle, Trap, oracle_at, stir, trap
from tests.support.runs import running

COMBINATIONS = tuple((route, state, way) for route in PLACES for state in STATES for way in WAYS)
FULL = os.environ.get("SAYSO_FULL_ORACLE") == "1"
DRAWN = COMBINATIONS if FULL else tuple(random.Random(8).sample(COMBINATIONS, 60))
EACH = len(LACKING) if FULL else 4

SPRINGS = {
    "git add a": "attributes",
    "git commit -m 'a change'": "blob",
    "git commit -am 'a change'": "tree",
    "git commit -a -m 'a change'": "all blobs",
    "git commit -q -m 'a change'": "blob of the index",
    "git commit --amend --no-edit": "blob",
    "git rm k": "tree",
    "git reset HEAD a": "tree",
    "git stash": "blob",
    "git switch other": "tree of a branch",
    "git status": "tree",
    "git status -v": "blob of the index",
    "git rev-parse HEAD:a HEAD~1": "commit",
    "git check-attr -a d/f": "attributes",
    "git merge-base main other": "commit of a branch",
    "git notes list": "note",
    "git ls-tree -r HEAD": "tree of a folder",
    "sh -c 'touch k; git status'": "tree",
}
"""Lines for which git on its own fetches, in the state where it does."""


@pytest.fixture
def trapped(tmp_path: Path) -> Iterator[Trap]:
    """Set up the canary and the port."""
    with trap(tmp_path) as found:
        yield found


@pytest.fixture
async def oracle(tmp_path: Path) -> AsyncIterator[Oracle]:
    """Return a world with a runner, whose places can lose single objects."""
    async with running() as runner:
        made = oracle_at(tmp_path / "home", runner)
        yield replace(made, source=whole(made.source, tmp_path / "home/whole"))


async def hits(
    oracle: Oracle, trapped: Trap, wanted: Iterable[tuple[str, str, str, tuple[str, ...]]]
) -> tuple[set[str], int]:
    """Run the lines that are let pass, each in its own place; return what sprang."""
    found: set[str] = set()
    ran = 0
    for number, (route, state, way, lines) in enumerate(wanted):
        for each, line in enumerate(lines):
            place = lacking(oracle, number * 1000 + each, route, STATES[state], way, trapped)
            stir(place, each)
            trapped.sprung()  # while it was made
            ran += await oracle.allows(line, place.cwd)
            if trapped.sprung():
                found.add(f"{route} / {state} / {way} / {line}")
    return found, ran


@pytest.mark.deep
@pytest.mark.slow
async def test_nothing_is_fetched(oracle: Oracle, trapped: Trap) -> None:
    """Whatever is missing, wherever, and however the remote is reached."""
    wanted = [(*one, tuple(random.Random(f"{one}").sample(LACKING, EACH))) for one in DRAWN]
    found, ran = await hits(oracle, trapped, wanted)

    assert found == set()
    assert ran > len(DRAWN) * EACH // 10


@pytest.mark.slow
async def test_each_line_that_fetches_by_itself_does_not(oracle: Oracle, trapped: Trap) -> None:
    """The control: git alone connects for the same line in the same state."""
    kept, alone = set(), set()
    for number, (line, state) in enumerate(SPRINGS.items()):
        place = lacking(oracle, number, "plain", STATES[state], QUICK, trapped)
        stir(place, number)
        trapped.sprung()  # while it was made
        await oracle.allows(line, place.cwd)
        if trapped.sprung():
            kept.add(line)
        if by_itself(line, place, trapped):
            alone.add(line)

    assert kept == set()
    assert alone == set(SPRINGS)


async def test_without_detection_something_is_fetched(oracle: Oracle, trapped: Trap) -> None:
    """A control: `git commit` and `git add` are let pass by lists, and would connect."""
    lines = ("git add a", "git commit -m 'a change'", "git commit --amend --no-edit")
    wanted = [("plain", SPRINGS[line], QUICK, (line,)) for line in lines]
    found, _ = await hits(replace(oracle, detected=False), trapped, wanted)

    assert len(found) == len(lines)


@pytest.mark.parametrize("line", SPRINGS)
def test_without_such_a_remote_nothing_asks(line: str, oracle: Oracle, trapped: Trap) -> None:
    """Neither in a whole repository nor in one whose missing objects no one has."""
    place = lacking(oracle, 1, "plain", STATES[SPRINGS[line]], "", trapped)

    assert oracle.decided(line, place.cwd) is Decision.ALLOW


@pytest.mark.parametrize("line", ["git status", "git rev-parse HEAD", "git branch -v"])
def test_a_reading_of_a_partial_clone_asks_nothing(
    line: str, oracle: Oracle, trapped: Trap
) -> None:
    """What keeps it from fetching is set for it; next to a writer it is not, and that asks."""
    place = lacking(oracle, 1, "plain", STATES["blob"], QUICK, trapped)

    assert oracle.decided(line, place.cwd) is Decision.ALLOW
    assert oracle.decided(f"sh -c 'touch k; {line}'", place.cwd) is Decision.ASK
