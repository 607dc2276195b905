"""Check that the real wrapper runs what the plan says: a differential fuzz."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest

from core.model.command import PinnedFile, PlannedCommand
from core.planning.command import plan_command
from core.planning.paths.search_path import SearchPath
from core.programs.profiles.tables import section, table, words
from core.programs.shell_payload import shell_grammars
from core.programs.unwrap import Unwrapped, unwrap
from core.programs.wrapper_grammar import grammars
from core.runner.supervisor.connectors import pipelines, wanted
from tests.faults.wrapper_lines import OPTIONS, SHELLS, draw

SOURCE = Path(__file__).with_name("wrapper_stub.c")
LINES = int(os.environ.get("SAYSO_FUZZ_LINES", "6000"))
"""Distinct lines drawn; about a fifth can be unwrapped and are run twice."""
SAMPLE = 1000
"""The number in `make test`."""
SHARE = 6
"""At least one in this many lines must have been run."""
_STDIN = b"p q\nr\n"

Ran = tuple[str, tuple[str, ...]]
"""The path of a program that ran, and its vector."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A program that should run, with its vector; ``open_ended``: or more, any number of times."""

    path: str
    argv: tuple[str, ...]
    open_ended: bool


Reader = Callable[[list[str]], PlannedCommand | None]


@dataclass(slots=True)
class Tally:
    """What a campaign saw: lines drawn and run, by which wrappers, and what ran differently."""

    drawn: int = 0
    run: int = 0
    wrappers: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


class World:
    """A folder of recording programs, which is first on the search path."""

    def __init__(self, place: Path) -> None:
        """Compile the recorder under every name that is drawn."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise RuntimeError("install gcc and libc6-dev: no cc found")
        self.place = place
        subprocess.run([compiler, "-O1", "-Wall", "-o", place / "tool", SOURCE], check=True)
        for name in ("other", "a=b", "-tool"):
            shutil.copy(place / "tool", place / name)
        self.search = SearchPath((str(place), "/usr/bin"))
        (place / "input").write_bytes(_STDIN)

    def plan(self, argv: list[str]) -> PlannedCommand:
        """Plan a vector as the gateway does."""
        return plan_command(tuple(argv), str(self.place), self.search)

    def execute(self, program: PinnedFile, argv: tuple[str, ...]) -> list[Ran]:
        """Run a wrapper for real and return what it ran."""
        record = self.place / "record"
        record.unlink(missing_ok=True)
        reading, writing = os.O_RDONLY, os.O_WRONLY
        pid = os.posix_spawn(
            program.path,
            argv,
            {"PATH": self.search.text, "LC_ALL": "C.UTF-8"},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, str(self.place / "input"), reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, writing, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, writing, 0),
            ],
        )
        os.waitpid(pid, 0)
        return _parse(record.read_bytes()) if record.exists() else []


def _parse(record: bytes) -> list[Ran]:
    parts = iter(record.split(b"\0")[:-1])
    return [
        (os.fsdecode(path), tuple(os.fsdecode(next(parts)) for _ in range(int(next(parts)))))
        for path in parts
    ]


def claims(command: PlannedCommand, *, by_path: bool, more: bool = False) -> list[Claim]:
    """Return what a plan says will run if every program succeeds."""
    program = command.executable
    assert program is not None
    if not command.inner:
        return [Claim(program.path, command.by_path if by_path else command.argv, more)]
    found = unwrap(command.argv, program)
    assert isinstance(found, Unwrapped)
    joins = [one.value for one in found.connectors or ()]
    runs: list[Claim] = []
    for joined_by, group in pipelines(joins, len(command.inner)):
        if wanted(joined_by, 0):
            inner = [command.inner[index] for index in group]
            more_now = more or found.open_ended
            runs += [c for one in inner for c in claims(one, by_path=by_path, more=more_now)]
    return runs


def fits(ran: list[Ran], claimed: list[Claim]) -> bool:
    """Return whether exactly what was claimed ran, in any order."""
    left = list(ran)
    for claim in claimed:
        if not claim.open_ended:
            if (claim.path, claim.argv) not in left:
                return False
            left.remove((claim.path, claim.argv))
    heads = [(claim.path, claim.argv) for claim in claimed if claim.open_ended]
    return all(any(p == path and v[: len(h)] == h for path, h in heads) for p, v in left)


def campaign(world: World, read: Reader, lines: int, seed: int | None = None) -> Tally:
    """Draw lines; run each unwrapped one as requested and as bound."""
    tally, rng, seen = Tally(), Random(seed), set()
    while tally.drawn < lines:
        argv = draw(rng)
        if tuple(argv) in seen:
            continue
        seen.add(tuple(argv))
        tally.drawn += 1
        command = read(argv)
        if command is None or not _all_recorded(command, world):
            continue
        tally.run += 1
        tally.wrappers.add(argv[0].rpartition("/")[2])
        assert command.executable is not None
        for vector, by_path in ((command.argv, False), (command.vector, True)):
            ran = world.execute(command.executable, vector)
            expected = claims(command, by_path=by_path)
            if not fits(ran, expected):
                tally.wrong.append(f"{vector} ran {ran}, not {expected}")
    return tally


def _all_recorded(command: PlannedCommand, world: World) -> bool:
    """Return whether a line is unwrapped, down to programs that record themselves."""
    place = f"{world.place}/"
    leaves = [leaf.executable for leaf in command.effective]
    return bool(command.inner) and all(one and one.path.startswith(place) for one in leaves)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Set up the recording programs, and run where they are."""
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


@pytest.mark.timeout(max(LINES // 20, 3600))
@pytest.mark.parametrize(
    "lines", [SAMPLE, pytest.param(LINES, marks=(pytest.mark.deep, pytest.mark.slow))]
)
def test_no_wrapper_runs_what_was_not_unwrapped(world: World, lines: int) -> None:
    """Thousands of lines: each unwrapped wrapper ran exactly the programs that the plan names."""
    tally = campaign(world, world.plan, lines)
    print(f"{tally.drawn} lines, {tally.run} unwrapped and run twice, {len(tally.wrong)} wrong")
    assert tally.wrong == []
    assert tally.run >= tally.drawn // SHARE
    assert tally.wrappers == {*OPTIONS, *SHELLS}


def test_every_grammar_is_drawn() -> None:
    """A wrapper that is unwrapped but never tried, or missing on this machine, fails the suite."""
    assert {*OPTIONS} == {*grammars()}
    assert {*SHELLS, "zsh"} == {*shell_grammars(), "sh"}
    assert [name for name in OPTIONS if shutil.which(name) is None] == []


def test_applets_that_read_start_nothing(world: World) -> None:
    """No applet of the list runs a program given to it, with an option before it or not."""
    busybox = world.plan(["busybox", "env", "tool"]).executable
    assert busybox is not None
    assert len(world.execute(busybox, ("busybox", "env", "tool"))) == 1
    known = section(table("wrappers"), "applets")
    for applet in words(known, "reading"):
        for arguments in (("tool", "a"), ("-n", "./tool"), ("-e", "tool"), ("-c", "tool")):
            assert world.execute(busybox, ("busybox", applet, *arguments)) == [], applet


def naive(world: World, argv: list[str]) -> PlannedCommand | None:
    """Take the first word that does not look like an option for the inner command."""
    plan = world.plan(argv)
    at = next((i for i, w in enumerate(argv) if i and not w.startswith("-") and "=" not in w), 0)
    inner = world.plan(argv[at:])
    if not at or inner.executable is None or plan.executable is None:
        return None
    if unwrap(tuple(argv), plan.executable) is None:
        return None
    return replace(plan, inner=(inner,), bound=(*argv[:at], *inner.by_path))


def first_of_a_payload(world: World, argv: list[str]) -> PlannedCommand | None:
    """Unwrap soundly, then forget what follows the first command of a shell's text."""
    plan = world.plan(argv)
    return replace(plan, inner=plan.inner[:1])


Broken = Callable[[World, list[str]], PlannedCommand | None]


def shallow_claims(command: PlannedCommand) -> list[Claim]:
    """Return the claims of a plan as if nothing came from standard input."""
    return [replace(claim, open_ended=False) for claim in claims(command, by_path=True)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("broken", [naive, first_of_a_payload])
def test_the_checker_catches_a_broken_unwrapper(world: World, broken: Broken) -> None:
    """Negative control: each unwrapper that lacks a rule is found to be unsound."""
    wrong = 0
    rng = Random(7)
    for _ in range(600):
        command = broken(world, draw(rng))
        if command is None or not _all_recorded(command, world):
            continue
        assert command.executable is not None
        ran = world.execute(command.executable, command.argv)
        named = [(one.executable.path, one.argv) for one in command.effective if one.executable]
        wrong += sorted(ran) != sorted(named)
    assert wrong > 10


def test_further_arguments_are_seen(world: World) -> None:
    """Negative control: what ``xargs`` adds does not fit a claim without it."""
    plan = world.plan(["xargs", "tool", "a"])
    assert plan.executable is not None
    ran = world.execute(plan.executable, plan.vector)
    assert [argv[1:] for _, argv in ran] == [("a", "p", "q", "r")]
    assert fits(ran, claims(plan, by_path=True))
    assert not fits(ran, shallow_claims(plan))
    assert not fits([], claims(world.plan(["env", "tool"]), by_path=True))
