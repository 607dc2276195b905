"""Make plans by hand, and read the corpus."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.model.approval import AllowlistEntry
from core.model.command import (
    Connector,
    ExecPlan,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Unreadable,
)
from core.model.decision import Promise
from core.model.identity import AgentId, SessionKey
from core.model.policy import ExecHost, ExecPolicy, ExecSecurity
from core.policy.matching.allowlist import Allowlist
from core.programs.unwrap import DEEPEST_NESTING, Unwrapped, bound_vector, unwrap

CORPUS = Path(__file__).parents[1] / "corpus"
LISTED = ExecPolicy(host=ExecHost.GATEWAY, security=ExecSecurity.ALLOWLIST)


def corpus(name: str) -> list[dict[str, Any]]:
    """Return the objects of one corpus file."""
    found: list[dict[str, Any]] = json.loads((CORPUS / name).read_text(encoding="utf-8"))
    return found


def pinned(path: str, realpath: str = "") -> PinnedFile:
    """Return a pin of a file that need not exist."""
    return PinnedFile(path, realpath or path, 1, 1, 1, "0" * 64)


def command(*argv: str, path: str | None = "", realpath: str = "") -> PlannedCommand:
    """Return a planned command; ``path=None`` is a program that was not found."""
    if path is None:
        return PlannedCommand(argv, None, "no executable file")
    found = path or (argv[0] if argv[0].startswith("/") else f"/usr/bin/{argv[0]}")
    return PlannedCommand(argv, pinned(found, realpath))


def in_usr_bin(name: str) -> PinnedFile:
    """Return the program that Debian has under a name; links other than sh to dash are left out."""
    path = name if name.startswith("/") else f"/usr/bin/{name}"
    return pinned(path, "/usr/bin/dash" if path == "/usr/bin/sh" else "")


def wrapped(
    *argv: str, find: Callable[[str], PinnedFile | None] | None = None, depth: int = 0
) -> PlannedCommand:
    """Return a command as the planner makes it, with wrappers unwrapped; ``find`` needs no files.

    By default each program is in /usr/bin, and sh is dash.
    """
    file = (find or in_usr_bin)(argv[0])
    if file is None:
        return PlannedCommand(argv, None, "no executable file")
    found = unwrap(argv, file) if depth < DEEPEST_NESTING else None
    if not isinstance(found, Unwrapped):
        return PlannedCommand(argv, file)
    inner = tuple(wrapped(*one, find=find, depth=depth + 1) for one in found.commands)
    bound = bound_vector(found, file, inner)
    if bound is None:
        return PlannedCommand(argv, file)
    pins = tuple(pin for one in inner if one.executable for pin in (one.executable, *one.operands))
    return PlannedCommand(argv, file, operands=pins, inner=inner, bound=bound)


def plan_of(
    *commands: PlannedCommand,
    env: Sequence[tuple[str, str]] = (),
    unreadable: Unreadable | None = None,
) -> ExecPlan:
    """Return a plan of these commands, joined by ``;``."""
    return ExecPlan(
        text="",
        commands=commands,
        connectors=(Connector.THEN,) * max(len(commands) - 1, 0),
        unreadable=unreadable,
        cwd=PinnedDirectory("/srv/app", 1, 1),
        env=tuple(env),
        requested_env=tuple(name for name, _ in env),
        host=ExecHost.GATEWAY,
        node=None,
        agent=AgentId("main"),
        session=SessionKey("s"),
        timeout_ms=1000,
        digest="",
    )


def listed(*patterns: str | Promise) -> Allowlist:
    """Return an allowlist of patterns, or of what was promised; home is /home/alice."""
    promises = (Promise(one) if isinstance(one, str) else one for one in patterns)
    entries = [AllowlistEntry(one.pattern, None, one.argv, one.content) for one in promises]
    return Allowlist(entries, "/home/alice")
