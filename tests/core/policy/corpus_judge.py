"""Judge the entries of the corpus."""

import fcntl
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.explain.batch_entry import entry_of
from core.errors import SaysoError
from core.model.command import ExecPlan, PinnedFile
from core.model.decision import Decision
from core.model.policy import Trust
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from tests.support.plans import corpus, listed, pinned, wrapped

WORKSPACE = Path("/tmp/gate_ws")


COMMANDS = corpus("commands.json")


FIELDS = ("id", "command", "argv", "cwd", "env", "allowlist", "safe_bins", "acl")


NAME = re.compile(r"[a-z0-9+_.-]+")


# These classes are about names that resolve to nothing, so nothing may be invented for them.
REAL_FILES_ONLY = {"path-resolution", "homoglyph-unicode", "quoting-decode", "newline-control"}


@pytest.fixture(autouse=True)
def workspace() -> Iterator[None]:
    """Give the corpus the folder that it names, one test at a time over all workers."""
    with WORKSPACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(WORKSPACE, ignore_errors=True)
        WORKSPACE.mkdir()
        yield
        shutil.rmtree(WORKSPACE, ignore_errors=True)


def set_up(entry: dict[str, Any]) -> None:
    """Make the files and links that an entry describes; later changes do not concern judging."""
    for step in entry.get("setup", ()):
        for kind, detail in step.items():
            if kind == "mkdir":
                Path(detail).mkdir(parents=True, exist_ok=True)
            elif kind in {"file", "exe", "symlink"}:
                path = Path(detail[0])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                make(path, kind, detail[1])


def make(path: Path, kind: str, content: str) -> None:
    """Make one file, executable or link."""
    if kind == "symlink":
        path.symlink_to(content)
        return
    path.write_text(content, encoding="utf-8")
    path.chmod(0o755 if kind == "exe" else 0o644)


def judge(
    entry: dict[str, Any], trust: Trust, *, installed: bool, allowlist: Allowlist | None = None
) -> Decision:
    """Judge an entry; ``installed`` pretends that each named program exists.

    Without it, an entry about a program that this machine lacks would pass for the wrong reason.
    """
    set_up(entry)
    fields = {key: entry[key] for key in FIELDS if key in entry}
    try:
        understood = entry_of({**fields, "trust": trust.value}, str(WORKSPACE))
    except SaysoError:
        return Decision.DENY
    plan = Planner().plan(understood.request, understood.policy)
    if isinstance(plan, Refusal):
        return Decision.DENY
    if installed and plan.unreadable is None and entry["class"] not in REAL_FILES_ONLY:
        plan = with_programs(plan, entry["allowlist"])
    patterns = allowlist or listed(*understood.allowlist)
    return evaluate(plan, understood.policy, patterns, understood.acl).decision


def with_programs(plan: ExecPlan, patterns: list[str]) -> ExecPlan:
    """Give each program that was not found a file, at its listed path or in /usr/bin."""
    there = {
        one.argv[0]: one.executable
        for command in plan.commands
        for one in (command, *command.inner, *command.effective)
    }

    def find(name: str) -> PinnedFile | None:
        if there.get(name) is not None or not NAME.fullmatch(name):
            return there.get(name)
        exact = [one for one in patterns if one.endswith(f"/{name}") and one.startswith("/")]
        return pinned(exact[0] if exact else f"/usr/bin/{name}")

    commands = tuple(
        replace(wrapped(*one.argv, find=find), cwd=one.cwd, routing=one.routing)
        for one in plan.commands
    )
    return replace(plan, commands=commands)
