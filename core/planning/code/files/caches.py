"""Name the files in which Python caches compiled code, and bind them where that is needed.

Elsewhere, a command is kept from finding them (``core.model.command.PlannedCommand.cached``).
"""

# ruff: noqa: PTH116, PTH118
# pathlib is ten times slower here.

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from core.files.lookup import is_file
from core.model.command import PinnedFile, PlannedCommand
from core.planning.paths.pins import pin_file

_SET_ID: Final = stat.S_ISUID | stat.S_ISGID
_LEVELS: Final = ("", ".opt-1", ".opt-2", ".opt-3")
_PREFIX: Final = re.compile(r"(?i:pycache_?prefix)=(.+)", re.DOTALL)
_MOST: Final = 16
"""How many modules' caches are named at most."""


def caches_of(
    paths: Iterable[str], tags: Sequence[str], argv: Iterable[str], cwd: str
) -> Iterator[str]:
    """Yield the files in which Python may cache the compiled code of ``paths`` (PEP 3147, 488).

    ``tags`` are what its versions may put into the names of these.
    """
    given = [found[1] for found in map(_PREFIX.search, argv) if found is not None]
    modules = (path for path in dict.fromkeys(paths) if path.endswith(".py"))
    for path in islice(modules, _MOST):
        folder, _, name = path.rpartition("/")
        stem = name.removesuffix(".py")
        moved = (os.path.normpath(f"{os.path.join(cwd, one)}/{folder}") for one in given)
        for place in (f"{folder}/__pycache__", *moved):
            yield from (f"{place}/{stem}.{tag}{level}.pyc" for tag in tags for level in _LEVELS)


def with_caches(command: PlannedCommand) -> PlannedCommand:
    """Return a command with its cached files bound as they are, and those of what it starts."""
    if not any(one.cached for one in command.all_of_it):
        return command
    there = [one for one in command.cached if is_file(one)]
    pins = tuple(pin for pin in map(pin_file, there) if isinstance(pin, PinnedFile))
    ahead = (one for one in command.cached if one not in there)
    return replace(
        command,
        inner=tuple(map(with_caches, command.inner)),
        operands=tuple(dict.fromkeys((*command.operands, *pins))),
        ahead=tuple(dict.fromkeys((*command.ahead, *ahead))),
        cached=(),
    )


def raises_rights(program: PinnedFile) -> bool:
    """Return whether a program gets its owner's rights, so that its opens cannot be intercepted."""
    try:
        return bool(os.stat(program.realpath).st_mode & _SET_ID)
    except OSError:
        return True
