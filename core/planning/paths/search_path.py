"""Find the file that an ``argv[0]`` names, on a search path that no request can change."""

# ruff: noqa: PTH112, PTH117, PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import copy
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from core.model.command import PinnedFile, PlannedCommand
from core.planning.paths.pins import Unpinned, pin_file, real_parent
from core.programs.carriers import in_system_directory

DEFAULT_SEARCH_PATH = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)


class SearchPath:
    """A fixed list of absolute directories, links resolved once, absent ones left out."""

    def __init__(self, directories: Iterable[str] = DEFAULT_SEARCH_PATH) -> None:
        absolute = [directory for directory in directories if os.path.isabs(directory)]
        self.text = ":".join(absolute)
        real = (os.path.realpath(directory) for directory in absolute)
        self._directories = tuple(dict.fromkeys(d for d in real if os.path.isdir(d)))
        self._others = tuple(d for d in self._directories if not in_system_directory(f"{d}/"))
        self._made: frozenset[str] = frozenset()
        self._may_make_any = False
        self._known: Mapping[str, PinnedFile] = {}

    def with_known(self, known: Mapping[str, PinnedFile]) -> "SearchPath":
        """Return the path with the programs of plain names that are known without a search."""
        if not known and not self._known:
            return self
        found = copy.copy(self)
        found._known = known  # noqa: SLF001 - its own copy
        return found

    def after(self, command: PlannedCommand, cwd: str) -> "SearchPath":
        """Return the path for what follows a command, which may make files executable."""
        made = _made_executable(command, cwd)
        if not made and not changes_modes(command.argv):
            return self
        following = copy.copy(self)
        following._made = self._made | made  # noqa: SLF001 - its own copy
        following._may_make_any |= not made  # noqa: SLF001 - its own copy
        return following

    @property
    def has_others(self) -> bool:
        """Return whether there is a folder that is not the operating system's."""
        return bool(self._others)

    def has_another(self, name: str) -> bool:
        """Return whether a folder that is not the operating system's has a file of a plain name."""
        if not name or "/" in name:
            return False
        return any(os.access(f"{one}/{name}", os.F_OK) for one in self._others)

    def may_start(self, path: str) -> bool:
        """Return whether a file is executable, or an earlier command of the line may make it so."""
        return self._may_make_any or os.access(path, os.X_OK) or real_parent(path) in self._made

    def find(self, name: str, cwd: str) -> PinnedFile | Unpinned:
        """Pin the executable for a name: with a slash from ``cwd``, else from the search path.

        The path is reported with its directory's links resolved and its last part as found:
        ``awk`` is ``/usr/bin/awk``, whose real path is ``/usr/bin/mawk``.
        """
        if "/" in name:
            return self._find_at(os.path.join(cwd, name))
        if name in self._known:
            return self._known[name]
        for directory in self._directories:
            path = f"{directory}/{name}"
            if not os.access(path, os.F_OK):  # an exception for each absent file costs 3 times that
                continue
            found = pin_file(path, executable=True)
            if isinstance(found, PinnedFile):
                return found
            if not _passed_over(found):
                return Unpinned(f"`{path}` {found.why}")
        hint = "; to run a command line, give it as a line (-c)" if " " in name else ""
        return Unpinned(f"no executable file `{name}` on the search path {self.text}{hint}")

    def _find_at(self, path: str) -> PinnedFile | Unpinned:
        at = real_parent(path)
        found = pin_file(at, executable=at not in self._made)
        return Unpinned(f"`{at}` {found.why}") if isinstance(found, Unpinned) else found


def _passed_over(found: Unpinned) -> bool:
    """Return whether a shell would also look further: nothing there could be started."""
    return found.why in _NOTHING_THERE


def changes_modes(words: Iterable[str]) -> bool:
    """Return whether words may change the mode of a file, by a program or a call in code."""
    return any("chmod" in word for word in words)


def _made_executable(command: PlannedCommand, cwd: str) -> frozenset[str]:
    """Return the files that a plain ``chmod`` of the system makes executable (chmod(1))."""
    file, words = command.executable, command.argv[1:]
    if not words or file is None or not file.path.endswith("/chmod"):
        return frozenset()
    if any(one.startswith("-") for one in words):  # `-R`: it is not known which files
        return frozenset()
    if not in_system_directory(file.path) or _EXECUTABLE.fullmatch(words[0]) is None:
        return frozenset()
    return frozenset(real_parent(os.path.join(cwd, one)) for one in words[1:])


_EXECUTABLE: Final = re.compile(r"0?[1357][0-7]{2}|(?:[ugoa]*[+=][rwx]*,)*[ugoa]*[+=][rw]*x[rwx]*")
_NOTHING_THERE = frozenset(("does not exist", "is not a regular file", "is not executable"))
