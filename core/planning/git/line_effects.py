"""Find how an earlier command of a line may change what a later git command obeys.

``cp notes .git/config && git diff``: when it is judged, the repository is as it was. A command that
names a file which git obeys, and does more than read it, is taken to change it, and a person is
asked.
"""

# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from core.model.command import PlannedCommand
from core.planning.git.obedience import obedience_of
from core.planning.git.repository import obeyed_folders
from core.policy.matching.path_arguments import pieces
from core.programs.neutral_environment import is_reading

_LEADS: Final = frozenset((".git", "HEAD", "commondir"))
"""Names that make a folder a repository, or lead to another one."""

_CONFIGURES: Final = frozenset(
    (
        "config",
        "remote",
        "init",
        "clone",
        "submodule",
        "sparse-checkout",
        "worktree",
        "worktree add",
    )
)
"""Subcommands of git that write what later ones obey, without naming the file."""


def with_effects(commands: tuple[PlannedCommand, ...], cwd: str) -> tuple[PlannedCommand, ...]:
    """Return the commands of a line, each with how an earlier one may change what it obeys."""
    earlier: list[tuple[PlannedCommand, str]] = []
    found: list[PlannedCommand] = []
    for command in commands:
        folder = cwd if command.cwd is None else command.cwd.path
        unsettled = ""
        for leaf in command.effective:
            if earlier and obedience_of(leaf) is not None:
                unsettled = unsettled or next(_changes(earlier, folder), "")
            if not _only_reads(leaf):
                earlier.append((leaf, folder))
        found.append(replace(command, unsettled=unsettled) if unsettled else command)
    return tuple(found)


def _only_reads(command: PlannedCommand) -> bool:
    file = command.executable
    return file is not None and is_reading(command.argv, file)


def _changes(earlier: list[tuple[PlannedCommand, str]], cwd: str) -> Iterator[str]:
    """Yield a clause for each earlier command that may change what git obeys in a folder."""
    obeyed = obeyed_folders(cwd)
    for command, folder in earlier:
        obeys = obedience_of(command)
        for word in command.argv[1:]:
            if obeys is not None and "/" not in word:
                continue  # a revision (HEAD), or a file that git itself keeps apart from its own
            if any(_is_obeyed(os.path.join(folder, one), obeyed) for one in (word, *pieces(word))):
                named = word.encode(errors="replace").decode()
                yield f"`{command.argv[0]}` before it may change `{named}`, which it obeys"
        if obeys is not None and obeys.subcommand in _CONFIGURES:
            yield f"`git {obeys.subcommand}` before it may change settings that it obeys"


def _is_obeyed(path: str, obeyed: tuple[str, ...]) -> bool:
    if not _LEADS.isdisjoint(path.split("/")):
        return True
    real = os.path.realpath(path)
    return any(real == one or real.startswith(one + "/") for one in obeyed)
