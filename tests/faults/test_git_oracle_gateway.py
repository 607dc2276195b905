"""Run test_git_oracle through `sayso run` and a gateway: what it lets pass really runs.

Each line is a process of `sayso` that connects to a gateway with the shipped example policy; it is
forked from one that has loaded the CLI, and ``test_a_forked_cli_is_the_cli`` compares the two.
``SAYSO_ORACLE_LINES=N`` runs up to N lines that are let pass in each place instead of one, ``all``
every one; ``SAYSO_FULL_ORACLE=1`` does so in every existing place, which takes hours.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.model.decision import Decision
from tests.e2e.running import finished
from tests.faults.git_oracle.oracle import LINES, Judge, Trap, judge, stir, trap
from tests.faults.git_oracle.plants import NAMES, plant
from tests.faults.git_oracle.routes import ROUTES, Place, template
from tests.faults.oracle_gateway import ASKED, Lane, lane, words

FULL = os.environ.get("SAYSO_FULL_ORACLE") == "1"
COMBINATIONS = tuple((route, name) for route in ROUTES for name in NAMES)
DRAWN = random.Random(27).sample(COMBINATIONS, len(COMBINATIONS) if FULL else 420)
PARTS = 40 if FULL else 3
"""Tests that the combinations are spread over, for as many processes."""
ASKED_FOR = os.environ.get("SAYSO_ORACLE_LINES", "1")
MOST = len(LINES) if FULL or ASKED_FOR == "all" else int(ASKED_FOR)
"""Lines that are run in a place, of those let pass."""
CONTROLS = tuple(
    ("plain", name) for name in ("signatures", "hooks", "textconv", "filter clean", "url")
)
LINES_OF_CONTROLS = (
    *("git status", "git diff", "git log -p -2 pgp", "git add a", "git fetch", "git blame a"),
)
SAME = ("git status", "git diff", "cat nowhere", "cat /etc/hostname && git log -1", "no-such-one")

pytestmark = [pytest.mark.deep, pytest.mark.timeout(4 * 3600 if MOST > 1 else 240)]


@dataclass
class World:
    """A lane, the repository that places copy, and what springs in them."""

    lane: Lane
    judge: Judge
    source: Path
    trapped: Trap
    made: int = 0
    found: list[str] = field(default_factory=list)
    ran: int = 0
    asked: int = 0
    idle: int = 0

    def place(self, route: str, planted: str) -> Place:
        """Make a place with something planted in it."""
        self.made += 1
        at = self.lane.user / "projects" / str(self.made)
        at.mkdir()
        place = ROUTES[route](at, self.source)
        plant(planted, place, at, self.trapped.canary, self.trapped.port)
        self.trapped.sprung()  # while it was made
        return place

    def try_all(self, route: str, planted: str, lines: Sequence[str]) -> None:
        """Run the lines that are let pass in their own place; record what sprang."""
        place = self.place(route, planted)
        for number, line in enumerate(lines):
            stir(place, number)
            self._try(line, place, f"{route} / {planted}")
        self.clear()

    def try_allowed(self, route: str, planted: str, lines: Sequence[str], most: int) -> None:
        """Run at most this many lines that are let pass in a place, and one that asks.

        Planner and judge choose them, and the gateway must decide as they do.
        """
        place, named = self.place(route, planted), f"{route} / {planted}"
        ran, asking = 0, ""
        for number, line in enumerate(lines):
            stir(place, number)
            if self._is_allowed(line, place):
                assert self._try(line, place, named), line
                ran += 1
            else:
                asking = line
            if ran == most:
                break
        self.idle += not ran
        if asking:
            assert self._try(asking, place, named) == self._is_allowed(asking, place), asking
        self.clear()

    def _is_allowed(self, line: str, place: Place) -> bool:
        return self.judge.decided(line, place.cwd) is Decision.ALLOW

    def _try(self, line: str, place: Place, named: str) -> bool:
        denied = self.lane.denied(line, place.cwd)
        assert denied in {"", ASKED}, line
        self.ran += not denied
        self.asked += bool(denied)
        if self.trapped.sprung():
            self.found.append(f"{named} / {line}")
        return not denied

    def clear(self) -> None:
        """Remove the last place."""
        shutil.rmtree(self.lane.user / "projects" / str(self.made))

    def hits(self) -> set[str]:
        """Return what sprang, by what was planted."""
        return {one.split(" / ")[1] for one in self.found}


def worlds(home: Path, module: str = "bot") -> Iterator[World]:
    """Yield a world with a gateway."""
    home.mkdir(mode=0o700)
    with lane(home, module) as found, trap(home) as trapped:
        yield World(found, judge(home), template(home / "template"), trapped)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Yield a world for all tests of this file; each place is used once."""
    yield from worlds(tmp_path_factory.mktemp("oracle") / "home")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_springs(world: World, part: int, capsys: pytest.CaptureFixture[str]) -> None:
    """What is planted stays where it is, whatever line the gateway lets pass."""
    before = world.ran, world.asked, len(world.found), world.idle
    mine = DRAWN[part::PARTS]
    for route, planted in mine:
        lines = random.Random(f"gateway {route} {planted}").sample(LINES, len(LINES))
        world.try_allowed(route, planted, lines, MOST)
    ran, asked, idle = world.ran - before[0], world.asked - before[1], world.idle - before[3]

    with capsys.disabled():
        print(f"\n{len(mine)} places ({idle} where all lines ask), {ran} lines run, {asked} asked")
        print(f"{len(world.found) - before[2]} canaries sprang")
    assert world.found[before[2] :] == []
    legible = [one for one in mine if ", " not in one[0]]
    # Behind an odd link (`link, NBSP`) all lines ask; how many such places are drawn is chance.
    assert len(mine) - idle > 0.9 * len(legible) > len(mine) / 3
    assert ran >= len(mine) - idle


def test_there_are_enough_combinations() -> None:
    """Every discovery route with every setting that starts a program or connects."""
    assert len(DRAWN) >= 400


@pytest.mark.parametrize("line", SAME)
def test_a_forked_cli_is_the_cli(world: World, line: str) -> None:
    """A control of the harness: a freshly started process ends and prints the same."""
    place = world.place("plain", "textconv")

    alone = finished(world.lane.gateway, *words(line, place.cwd)[2:], agent="main", real=True)

    assert world.lane.cli.run("run", *words(line, place.cwd)) == alone


def test_it_would_spring(world: World) -> None:
    """A control: git on its own starts the canary in such a place."""
    place = world.place("plain", "textconv")
    subprocess.run(["git", "diff"], cwd=place.cwd, stdout=-3, check=False)

    assert world.trapped.sprung()


@pytest.mark.parametrize(
    ("missing", "sprung"),
    [("neutralising", {"signatures", "hooks"}), ("detection", {"textconv", "filter clean", "url"})],
)
def test_without_a_guard_something_springs(tmp_path: Path, missing: str, sprung: set[str]) -> None:
    """Two controls: a gateway that sets nothing for git, and one that does not look around it."""
    for world in worlds(tmp_path / "home", f"tests.faults.gateway_without_{missing}"):
        for route, planted in CONTROLS:
            world.try_all(route, planted, LINES_OF_CONTROLS)

        assert sprung <= world.hits()
