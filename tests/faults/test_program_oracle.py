"""Run what policy allows among traps: no canary may fire (the execution oracle).

Git has an oracle of its own. ``SAYSO_FULL_ORACLE=1`` tries each line in each trap, with more
programs from npm and PyPI; what is left out by design is in ``program_lines.BY_DESIGN``.
"""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.factories.rules import provisions_of
from core.model.command import ExecPlan
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT
from core.model.policy import ExecPolicy, PolicyLayer
from core.planning import command, steering
from core.planning.planner import Planner
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import resolve
from core.policy.rules.compiled import Provisions
from core.runner.runner import Runner
from tests.core.policy.developer import example_settings
from tests.faults.program_bench import FULL, GROUPS, chosen, fired, look, search_path
from tests.faults.program_lines import CONNECTS, lines_of_rules
from tests.faults.program_traps import Canary, Listener, Trap, listening, traps
from tests.support.plans import listed
from tests.support.runs import Start, new_run, planned, request, running

_PATIENCE_MS = 30_000

pytestmark = [pytest.mark.deep, pytest.mark.timeout(3600 if FULL else 240)]


@dataclass(frozen=True)
class Bench:
    """A home with a project, the example policy, and ports that count callers."""

    home: Path
    trapped: Listener
    own: Listener
    policy: ExecPolicy
    provisions: Provisions
    planner: Planner
    rules: tuple[str, ...]

    def plan(self, line: str, tree: Path) -> ExecPlan:
        """Plan a line in a folder."""
        return planned(request(line, cwd=tree, timeout_ms=_PATIENCE_MS), self.planner)

    def allows(self, plan: ExecPlan) -> bool:
        """Return whether the example policy with every path listed lets a plan run unasked."""
        found = evaluate(plan, self.policy, listed("/**"), provisions=self.provisions)
        return found.decision is Decision.ALLOW


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...]
) -> Iterator[Bench]:
    """Yield a bench whose home is the user's: files directly in it are theirs."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(home))
    settings = example_settings(home)
    provisions = provisions_of(settings).of(DEFAULT_AGENT)
    with listening() as trapped, listening() as own:
        (home / ".npmrc").write_text(f"registry=http://127.0.0.1:{own.port}/\nfetch-retries=0\n")
        yield Bench(
            home=home,
            trapped=trapped,
            own=own,
            policy=resolve(settings.exec_layers(DEFAULT_AGENT), PolicyLayer(source="no file")),
            provisions=provisions,
            planner=Planner((*installed, *search_path(home)), {"HOME": str(home)}),
            rules=tuple(lines_of_rules(tuple(settings.tools.exec.rules))),
        )


class Hits:
    """What fired, and how much was tried."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.ran = 0
        self.asked = 0


async def _try(bench: Bench, runner: Runner, trap: Trap, tree: Path, lines: list[str]) -> Hits:
    """Run the allowed lines in a trap."""
    hits, place = Hits(), tree.parent / f"{tree.name} canary"
    canary = Canary.under(place, bench.trapped.port)
    trap.plant(tree, canary)
    for line in lines:
        folder = tree / "inner" if hits.ran % 3 == 2 and (tree / "inner").is_dir() else tree
        plan = bench.plan(line, folder)
        if plan.commands[0].executable is None:
            continue
        if not bench.allows(plan):
            hits.asked += 1
            continue
        before = look(tree)
        bench.trapped.calls.clear()
        own = len(bench.own.calls)
        await runner.run(new_run(), plan, Start())
        hits.ran += 1
        found = fired(canary, bench.trapped)
        found += ["changed"] * (look(tree) != before)
        if len(bench.own.calls) > own and not CONNECTS.fullmatch(line):
            found.append("called home")
        if found:
            hits.found.append(f"{trap.name}: {line}: {', '.join(sorted(set(found)))}")
    return hits


async def oracle(bench: Bench, programs: tuple[str, ...], *lines: str, named: str = "") -> Hits:
    """Try the traps of some programs, each in its own project.

    Given ``lines`` are tried in each of the traps with this in their name.
    """
    hits = Hits()
    found = (one for one in traps() if not set(one.programs).isdisjoint(programs))
    mine = [trap for trap in found if named in trap.name]
    async with running() as runner:
        for at, trap in enumerate(mine):
            tree = bench.home / "projects" / f"{named}{'-'.join(programs)[:9]}{at}"
            (tree / "inner").mkdir(parents=True)
            tried = list(lines) or chosen(trap, programs, bench.rules, at)
            done = await _try(bench, runner, trap, tree, tried)
            shutil.rmtree(tree)
            hits.found += done.found
            hits.ran += done.ran
            hits.asked += done.asked
    print(f"{len(mine)} traps, {hits.ran} lines run, {hits.asked} asked, {len(hits.found)} hits")
    return hits


LEAST = {"npm": 40, "rust": 0, "python": 25, "others": 20}
"""Lines that really run when only what `make system` installs exists."""


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_no_canary_fires(bench: Bench, group: str) -> None:
    """Whatever files are around it, an allowed line runs, writes and reaches nothing of theirs."""
    hits = asyncio.run(oracle(bench, GROUPS[group]))

    assert not hits.found, "\n".join(hits.found)
    assert hits.ran >= LEAST[group]


def test_without_neutralising_canaries_fire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first control: npm obeys the project's .npmrc if nothing overrides it."""
    monkeypatch.setattr(command, "neutral_environment", lambda *_: ())
    hits = asyncio.run(oracle(bench, ("npm",), "npm ls", named=".npmrc "))

    assert len(hits.found) >= 5, hits.found


def test_without_detection_canaries_fire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second control: what a file chooses runs if no one looks for the file."""
    monkeypatch.setattr(steering, "chosen_by", lambda *_: "")
    hits = asyncio.run(oracle(bench, ("yarn", "poetry", "cargo", "rustc")))

    assert len(hits.found) >= 2, hits.found
