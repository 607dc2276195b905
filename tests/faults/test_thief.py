"""Run two hundred lines of the example policy, with a thief at each of their pauses."""

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.explain.batch_entry import REQUESTER, SESSION
from bot.factories.rules import provisions_of
from bot.policy_tools.judge import settings_from
from core.errors import PlanDrift
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT
from core.model.policy import PolicyLayer
from core.planning.planner import Planner
from core.planning.verify import Recheck
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import resolve
from core.policy.matching.allowlist import Allowlist
from core.runner import runner as process
from tests.core.policy.developer import EXAMPLE
from tests.support.runs import Start, copy_of, new_run, running, script

THIEF = Path(__file__).with_name("thief.py")
LINES, CONTROLS, SEED, AT_A_TIME = 200, 40, 20261123, 8

HARMLESS = ("ls -la", "cat a", "grep one a", "sed -n 1p a", "head -1 a | wc -l", "echo x", "stat a")
VICTIMS = {
    "git status": "config",
    "git diff": "config",
    "git diff --stat | cat": "config",
    "timeout 5 git diff": "config",
    "cp -T a out": "link",
    "mv a out": "link",
    "touch out": "link",
    "cp -T a dir/new": "folder link",
    "mkdir -p dir/made": "folder link",
    "touch dir/new": "folder link",
    "python3 x.py": "module",
    "./x.sh": "x.sh",
    "nice ./x.sh": "x.sh",
    "./tool": "tool",
}
"""Steps that the example policy allows, the last four by an entry for those exact words."""


@dataclass(frozen=True, slots=True)
class Case:
    """A line, where it runs, and what is swapped at its pause."""

    line: str
    folder: Path
    pause: str
    kinds: tuple[str, ...]

    @property
    def escaped(self) -> bool:
        """Return whether anything ran or was written that had not been judged."""
        near = self.folder.parent
        written = (near / "outside").stat().st_mtime_ns != 0 or any((near / "outside.d").iterdir())
        return written or (near / "canary").exists()


@dataclass(slots=True)
class Toll:
    """How the lines ended."""

    stolen: set[str] = field(default_factory=set)
    escapes: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


def made_line(chance: random.Random, pause: str) -> tuple[str, tuple[str, ...]]:
    """Return a line of two or three commands, one of them a pause, and what to swap at it."""
    chosen = chance.sample(sorted(VICTIMS), chance.choice((1, 1, 2)))
    steps = [f"sleep {pause}", *chosen]
    if len(chosen) == 1 and chance.random() < 0.7:
        steps.insert(chance.choice((0, 1)), chance.choice(HARMLESS))
    line = steps[0] + "".join(chance.choice((" && ", " ; ")) + step for step in steps[1:])
    if len(steps) == 2 and "./" not in line and "x.py" not in line and chance.random() < 0.5:
        line = f"sh -c '{line}'"
    return line, tuple(dict.fromkeys(VICTIMS[step] for step in chosen))


def template(folder: Path) -> Path:
    """Make what each line finds: a repository with a changed file, scripts and a program."""
    folder.mkdir(parents=True)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    (folder / "a").write_text("one\n")
    for words in (("init", "-q", "--template="), ("add", "a"), ("commit", "-qm", "x")):
        subprocess.run((*git, *words), cwd=folder, check=True)
    (folder / "a").write_text("one two\n")
    for name in ("dir", ".git/info"):
        (folder / name).mkdir()
    (folder / ".git/info/attributes").write_text("* filter=x\n")
    (folder / "x.py").write_text("print('good')\n")
    script(folder / "x.sh", "#!/bin/sh\necho good\n")
    copy_of("true", folder / "tool")
    return folder


def case(number: int, home: Path, model: Path, chance: random.Random) -> Case:
    """Make one line, its folder, and next to that what must not be touched."""
    pause = f"0.2{os.getpid():07d}{number:04d}"  # each thief watches for its own lines only
    line, kinds = made_line(chance, pause)
    near = home / "projects" / str(number)
    folder = near / "app"
    shutil.copytree(model, folder)
    (near / "outside").write_text("precious")
    (near / "outside.d").mkdir()
    os.utime(near / "outside", ns=(0, 0))
    evil = script(folder / "evil.sh", f"#!/bin/sh\necho fired >{near}/canary\ncat\n")
    (folder / "evil.py").write_text(f"open('{near}/canary', 'w')\n")
    config = (folder / ".git/config").read_text()
    (folder / "evilcfg").write_text(f'{config}[filter "x"]\n\tclean = {evil}\n')
    return Case(line, folder, pause, kinds)


class Judge:
    """The shipped example policy, and entries for the lines' scripts."""

    def __init__(self, home: Path) -> None:
        settings = settings_from(EXAMPLE, {"SAYSO_HOME": str(home), "HOME": str(home)})
        self._policy = resolve(settings.exec_layers(DEFAULT_AGENT), PolicyLayer(source="no file"))
        self._provisions = provisions_of(settings).of(DEFAULT_AGENT)
        self._planner = Planner(base_env={"HOME": str(home)})
        entries = [
            AllowlistEntry("/usr/bin/python3*", None, ("x.py",)),
            AllowlistEntry(f"{home}/projects/**/x.sh", None),
            AllowlistEntry(f"{home}/projects/**/tool", None),
        ]
        self._allowlist = Allowlist(entries, str(home))

    def allowed(self, one: Case) -> ExecPlan:
        """Return the plan of a line, which the policy lets pass without asking."""
        request = ExecRequest(REQUESTER, SESSION, str(one.folder), line=one.line)
        plan = self._planner.plan(request, self._policy)
        assert isinstance(plan, ExecPlan), plan
        found = evaluate(plan, self._policy, self._allowlist, provisions=self._provisions)
        assert found.decision is Decision.ALLOW, (one.line, found.why)
        return plan


@contextmanager
def thief(cases: list[Case], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Let a thief watch for the pauses of all lines."""
    booty = folder / "booty.json"
    booty.write_text(json.dumps({one.pause: (str(one.folder), one.kinds) for one in cases}))
    command = (sys.executable, str(THIEF), str(booty))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "watching\n"
        try:
            yield watching
        finally:
            watching.kill()


async def robbed(count: int, home: Path, seed: int) -> Toll:
    """Run lines, several at a time, with the thief at their pauses."""
    chance, model = random.Random(seed), template(home / "model")
    cases = [case(number, home, model, chance) for number in range(count)]
    judge, toll, places = Judge(home), Toll(), asyncio.Semaphore(AT_A_TIME)
    async with running() as runner:
        with thief(cases, home) as watching:

            async def run(one: Case) -> None:
                async with places:
                    try:
                        done = await runner.run(new_run(), judge.allowed(one), Start())
                    except PlanDrift:
                        toll.denied.append(one.line)
                        return
                if done.drift:
                    toll.denied.append(one.line)
                elif done.exit_code == 126:
                    toll.unnamed.append(one.line)

            await asyncio.gather(*map(run, cases))
            watching.kill()
            assert watching.stdout is not None
            toll.stolen = set(watching.stdout.read().split())
    toll.escapes = [one.line for one in cases if one.escaped]
    return toll


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home that contains the example policy's projects."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.slow
@pytest.mark.timeout(180)  # 12 s on a quiet machine
async def test_nothing_stolen_at_a_pause_is_used(home: Path) -> None:
    """No line of 200 runs or writes what was put there while it slept; each denial is drift."""
    toll = await robbed(LINES, home, SEED)

    assert toll.escapes == []
    assert toll.unnamed == []
    assert len(toll.stolen) >= LINES * 0.95
    assert len(toll.denied) >= len(toll.stolen) - LINES * 0.05


@pytest.mark.parametrize("guard", ["recheck", "as_started"])
async def test_without_the_second_look_the_thief_wins(
    home: Path, monkeypatch: pytest.MonkeyPatch, guard: str
) -> None:
    """The control: nothing is bound again, or shells run their payload themselves."""
    if guard == "recheck":
        monkeypatch.setattr(process, guard, lambda *_, **__: Recheck())
    else:
        monkeypatch.setattr(process, guard, lambda plan: plan)

    assert len((await robbed(CONTROLS, home, SEED)).escapes) >= CONTROLS // 20
