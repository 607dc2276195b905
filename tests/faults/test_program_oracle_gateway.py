"""Run the programs' oracle through `sayso run` and a gateway: every line, each in a trap.

``SAYSO_FULL_ORACLE=1`` runs every line in every trap.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.core.policy.developer import example_settings
from tests.faults.oracle_gateway import ASKED, Lane, lane
from tests.faults.program_bench import FULL, GROUPS, all_lines, fired, look, search_path
from tests.faults.program_lines import CONNECTS, lines_of_rules
from tests.faults.program_traps import Canary, Listener, Trap, listening, traps

LEAST = {"npm": 15, "rust": 0, "python": 8, "others": 40}
"""Lines that really run when only what `make system` installs exists."""
_EVERYTHING = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/**"}]}}}

pytestmark = [pytest.mark.deep, pytest.mark.timeout(4 * 3600 if FULL else 240)]


@dataclass
class Bench:
    """A user's home with a gateway, ports that count callers, and what was seen."""

    lane: Lane
    trapped: Listener
    own: Listener
    made: int = 0
    found: list[str] = field(default_factory=list)
    ran: int = 0
    asked: int = 0

    def try_all(self, trap: Trap, lines: Iterable[str]) -> None:
        """Run the allowed lines, each in its own trap."""
        self.made += 1
        tree = self.lane.user / "projects" / str(self.made)
        tree.mkdir()
        canary = Canary.under(self.lane.user / "canaries" / str(self.made), self.trapped.port)
        trap.plant(tree, canary)
        for line in lines:
            self._try(line, tree, canary, trap.name)
        shutil.rmtree(tree)

    def _try(self, line: str, tree: Path, canary: Canary, named: str) -> None:
        before, own = look(tree), len(self.own.calls)
        self.trapped.calls.clear()
        denied = self.lane.denied(line, tree)
        assert denied in {"", ASKED, "executable_not_found"}, line
        self.ran += not denied
        self.asked += denied == ASKED
        found = fired(canary, self.trapped) + ["changed"] * (look(tree) != before)
        if len(self.own.calls) > own and not CONNECTS.fullmatch(line):
            found.append("called home")
        if found:
            self.found.append(f"{named}: {line}: {', '.join(sorted(set(found)))}")


@contextmanager
def bench(user: Path, installed: tuple[str, ...], module: str = "bot") -> Iterator[Bench]:
    """Yield a bench whose gateway searches for programs where the oracle's planner does."""
    user.mkdir(mode=0o700)
    search = (*installed, *search_path(user))
    with listening() as trapped, listening() as own:
        (user / ".npmrc").write_text(f"registry=http://127.0.0.1:{own.port}/\nfetch-retries=0\n")
        with lane(user, module, search, json.dumps(_EVERYTHING)) as found:
            yield Bench(found, trapped, own)


def tried(programs: tuple[str, ...], home: Path) -> Iterator[tuple[Trap, Sequence[str]]]:
    """Yield traps with lines: each line in one trap, in full in all."""
    rules = tuple(lines_of_rules(tuple(example_settings(home).tools.exec.rules)))
    mine = [one for one in traps() if not set(one.programs).isdisjoint(programs)]
    lines = {one.name: all_lines(one, programs, rules) for one in mine}
    if FULL:
        yield from ((one, lines[one.name]) for one in mine)
        return
    every = dict.fromkeys(line for found in lines.values() for line in found)
    for number, line in enumerate(every):
        holding = [one for one in mine if line in lines[one.name]]
        yield holding[number % len(holding)], (line,)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_no_canary_fires(
    tmp_path: Path, installed: tuple[str, ...], group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever files are around it, an allowed line runs, writes and reaches nothing of theirs."""
    with bench(tmp_path / "home", installed) as found:
        for trap, lines in tried(GROUPS[group], tmp_path):
            found.try_all(trap, lines)

    with capsys.disabled():
        print(f"\n{group}: {found.made} places, {found.ran} lines run, {found.asked} asked")
    assert not found.found, "\n".join(found.found)
    assert found.ran >= LEAST[group]


@pytest.mark.parametrize(
    ("missing", "program", "named", "line"),
    [
        ("neutralising", "npm", (".npmrc cache", ".npmrc logs-dir", ".npmrc registry"), "npm ls"),
        ("detection", "yarn", (".yarnrc.yml",), "yarn --version"),
        ("detection", "poetry", (".poetry",), "poetry --version"),
    ],
)
def test_without_a_guard_canaries_fire(
    tmp_path: Path, missing: str, program: str, named: tuple[str, ...], line: str
) -> None:
    """Two controls: a gateway that sets nothing for programs, and one that does not look around."""
    mine = [one for one in traps() if program in one.programs and one.name in named]
    with bench(tmp_path / "home", (), f"tests.faults.gateway_without_{missing}") as found:
        for trap in mine:
            found.try_all(trap, (line,))

    assert len(found.found) == len(named), found.found
