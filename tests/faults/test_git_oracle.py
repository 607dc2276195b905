"""No git line that the example policy lets pass starts or reaches what a repository names."""

import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.git_oracle.oracle import LINES, Oracle, Trap, oracle_at, stir, trap
from tests.faults.git_oracle.plants import NAMES
from tests.faults.git_oracle.routes import ROUTES
from tests.support.runs import running

COMBINATIONS = tuple((route, name) for route in ROUTES for name in NAMES)
FULL = os.environ.get("SAYSO_FULL_ORACLE") == "1"
DRAWN = COMBINATIONS if FULL else tuple(random.Random(9).sample(COMBINATIONS, 420))
EACH = len(LINES) if FULL else 2
CONTROLS = tuple(
    ("plain", name) for name in ("signatures", "hooks", "textconv", "filter clean", "url")
)


@pytest.fixture
def trapped(tmp_path: Path) -> Iterator[Trap]:
    """Set up the canary and the port."""
    with trap(tmp_path) as found:
        yield found


@pytest.fixture
async def oracle(tmp_path: Path) -> AsyncIterator[Oracle]:
    """Return a world with a runner."""
    async with running() as runner:
        yield oracle_at(tmp_path / "home", runner)


async def hits(
    oracle: Oracle, trapped: Trap, drawn: tuple[tuple[str, str], ...], each: int, seed: int = 0
) -> tuple[list[str], int]:
    """Run the lines that are let pass in each place; return what sprang, count what ran."""
    found: list[str] = []
    ran = 0
    for number, (route, name) in enumerate(drawn):
        dice = random.Random(f"{seed} {route} {name}")
        place = oracle.place(str(number), route, name, trapped)
        trapped.sprung()  # while it was made
        for line in dice.sample(LINES, min(each, len(LINES))):
            stir(place, ran)
            ran += await oracle.allows(line, place.cwd)
            if trapped.sprung():
                found.append(f"{route} / {name} / {line}")
    return found, ran


def test_there_are_enough_combinations() -> None:
    """Every discovery route with every setting that starts a program or connects."""
    assert len(COMBINATIONS) >= len(DRAWN) >= 400


@pytest.mark.parametrize(
    "count", [60, pytest.param(len(DRAWN), marks=(pytest.mark.deep, pytest.mark.slow))]
)
async def test_nothing_springs(oracle: Oracle, trapped: Trap, count: int) -> None:
    """Over all combinations; among the lines drawn are many that are let pass."""
    found, ran = await hits(oracle, trapped, DRAWN[:count], EACH)

    assert found == []
    assert ran > count * EACH // 5


@pytest.mark.deep
async def test_without_the_environment_something_springs(oracle: Oracle, trapped: Trap) -> None:
    """A control: lines are let pass because of what is set for them."""
    found, _ = await hits(replace(oracle, neutral=False), trapped, CONTROLS, len(LINES))

    assert {"signatures", "hooks"} <= {one.split(" / ")[1] for one in found}


@pytest.mark.deep
async def test_without_detection_something_springs(oracle: Oracle, trapped: Trap) -> None:
    """A control: lines that need an answer would run programs."""
    found, _ = await hits(replace(oracle, detected=False), trapped, CONTROLS, len(LINES))

    assert {"textconv", "filter clean", "url"} <= {one.split(" / ")[1] for one in found}
