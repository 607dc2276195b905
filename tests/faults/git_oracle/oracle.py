"""Judge lines under the shipped example policy and really run those that it lets pass."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.explain.batch_entry import REQUESTER, SESSION
from core.model.command import ExecPlan, ExecRequest, PlannedCommand
from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT
from core.model.policy import ExecPolicy, PolicyLayer
from core.planning.digest import bind
from core.planning.planner import Planner
from core.planning.steering import steering
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import resolve
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import Provisions, compiled
from core.programs.neutral_environment import everywhere
from core.runner.runner import Runner
from tests.core.policy.developer import example_settings
from tests.faults.git_oracle.plants import plant
from tests.faults.git_oracle.routes import ROUTES, Place, template
from tests.support.runs import Start, new_run, script

LINES = (
    *("git status", "git status -v", "git diff", "git diff HEAD", "git diff --stat main other"),
    *(
        "git diff --cc HEAD",
        "git log -p",
        "git log --oneline -3",
        "git show HEAD",
        "git show pgp ssh signed",
    ),
    *(
        "git log --diff-merges=remerge -p",
        "git log --format=%h",
        "git stash list -p",
        "git stash show -p",
    ),
    *("git blame a", "git grep -n one", "git ls-files -m", "git describe --dirty", "git branch -v"),
    *("git tag -l", "git for-each-ref", "git rev-parse HEAD", "git remote -v", "git config -l"),
    *(
        "git cat-file -p 1111111111111111111111111111111111111111",
        "git reflog -p",
        "git shortlog HEAD",
    ),
    *(
        "git worktree list",
        "git check-attr -a a",
        "git --no-pager log -p -1",
        "git diff --no-index a a2",
    ),
    *("timeout 20 git diff", "cat a && git diff", "sh -c 'git status; git diff'", "git diff | cat"),
    *("git add a", "git add -A", "git commit -m 'a change'", "git commit -am 'a change'"),
    *(
        "git commit --amend --no-edit",
        "git checkout -b made",
        "git switch other",
        "git switch -c new",
    ),
    *("git stash", "git stash pop", "git stash push -m 'kept'", "git fetch", "git fetch origin"),
    *("git fetch --all", "git pull --ff-only", "git pull --rebase", "git restore --staged a"),
)
"""The git lines of docs/examples/developer.json5 and what its profile of readings accepts."""


@dataclass
class Trap:
    """A program and a port; either leaves a trace when git uses it."""

    canary: Path
    port: int
    trace: Path

    def sprung(self) -> bool:
        """Return whether a trace was left since the last call."""
        found = self.trace.exists()
        self.trace.unlink(missing_ok=True)
        return found


@contextmanager
def trap(at: Path) -> Iterator[Trap]:
    """Set up a port of this machine and a program, both of which leave a trace."""
    trace = at / "sprung"
    canary = script(at / "canary", f"#!/bin/sh\necho program >>{trace}\nexec cat 2>/dev/null\n")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                trace.touch()
                connection.close()

        threading.Thread(target=listen, daemon=True).start()
        yield Trap(canary, server.getsockname()[1], trace)
        server.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Judge:
    """The example policy as it applies in a home; a control may remove ``detected``."""

    home: Path
    planner: Planner
    policy: ExecPolicy
    provisions: Provisions
    detected: bool = True

    def decided(self, line: str, cwd: Path) -> Decision:
        """Return what policy decides about a line."""
        return self.judged(line, cwd)[1]

    def judged(self, line: str, cwd: Path) -> tuple[ExecPlan, Decision]:
        """Return the plan of a line and what policy decides about it."""
        request = ExecRequest(REQUESTER, SESSION, str(cwd), line=line, timeout_ms=20_000)
        plan = self.planner.plan(request, self.policy)
        assert isinstance(plan, ExecPlan), plan
        judged = plan if self.detected else _unseen(plan)
        allowlist = Allowlist((), str(self.home))
        found = evaluate(judged, self.policy, allowlist, provisions=self.provisions)
        return plan, found.decision


@dataclass(frozen=True)
class Oracle(Judge):
    """A home with a projects folder, the example policy, and a runner.

    A control may remove ``neutral``: what is set for a command.
    """

    source: Path = field(kw_only=True)
    runner: Runner = field(kw_only=True)
    neutral: bool = True

    async def allows(self, line: str, cwd: Path) -> bool:
        """Judge a line; run it if it is let pass."""
        plan, decision = self.judged(line, cwd)
        if decision is not Decision.ALLOW:
            return False
        await self.runner.run(new_run(), plan if self.neutral else bare(plan), Start())
        return True

    def place(self, name: str, route: str, planted: str, found: Trap) -> Place:
        """Make a place with something planted in it."""
        at = self.home / "projects" / name
        at.mkdir(parents=True)
        place = ROUTES[route](at, self.source)
        plant(planted, place, at, found.canary, found.port)
        return place


def judge(home: Path) -> Judge:
    """Return how the example policy judges in a home."""
    settings = example_settings(home / "state")
    return Judge(
        home,
        Planner(base_env={"HOME": str(home)}),
        resolve(settings.exec_layers(DEFAULT_AGENT), PolicyLayer(source="no file")),
        compiled(settings, str(home)).everyone,
    )


def oracle_at(home: Path, runner: Runner) -> Oracle:
    """Return the world of a home that has no file yet."""
    home.mkdir()
    made, source = judge(home), template(home / "template")
    return Oracle(home, made.planner, made.policy, made.provisions, source=source, runner=runner)


def stir(place: Place, number: int) -> None:
    """Change files, so that git has to look at them."""
    for name in ("a", "a2"):
        if (place.tree / name).exists():
            (place.tree / name).write_text(f"{number}\n" * 3)


def _unseen(plan: ExecPlan) -> ExecPlan:
    return bind(replace(plan, commands=tuple(map(_without_clauses, plan.commands))))


def _without_clauses(command: PlannedCommand) -> PlannedCommand:
    inner = tuple(map(_without_clauses, command.inner))
    return replace(command, steered="", unsettled="", inner=inner)


def bare(plan: ExecPlan) -> ExecPlan:
    """Return a plan without anything that switches git's obedience off, verifiable as it is."""
    taken = dict(everywhere())
    environ = tuple(pair for pair in plan.env if pair[0] not in taken)
    commands = tuple(_exposed(one, plan.cwd.path) for one in plan.commands)
    return bind(replace(plan, env=environ, commands=commands))


def _exposed(command: PlannedCommand, cwd: str) -> PlannedCommand:
    inner = tuple(_exposed(one, cwd) for one in command.inner)
    bare = replace(command, neutral=(), inner=inner)
    return bare if inner else replace(bare, steered=steering(bare, cwd))
