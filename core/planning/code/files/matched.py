"""Find the files that the globs of a text name, as far as its shell will expand them.

Which shell that is, and with which options (`dotglob`, `globstar`), nobody knows: this is what all
of them match by default.
"""

# ruff: noqa: PTH118, PTH208
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from itertools import chain
from typing import Final

from core.files.lookup import check_looked, is_there
from core.planning.code.files.bulk_lookup import MOST_FILES, TOO_MANY, leads_elsewhere
from core.planning.paths.pins import Unpinned, spend
from core.programs.carriers import in_system_directory

_GLOB: Final = re.compile(r"[*?]|\[[^]/]")
_CLASS: Final = re.compile(r"\[[!^]?[^]/]*\[:[a-z]*:\][^]/]*\]")
_LIST: Final = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_DEEPEST: Final = 4
_MOST_COMPARED: Final = 100_000
_MOST_PATTERNS: Final = 256
_COMPARED: Final = 1 << 10
"""Bytes that are hashed in about the time in which a name is compared."""

_LISTED: Final = 32
"""So many names are compared in about the time in which a folder is listed."""


def paths_matched(folders: Iterable[str], words: Iterable[str]) -> list[str] | Unpinned:
    """Return the paths in folders that the globs among words match.

    Raises:
        OSError: a folder could not be read.
        HashingLimit: it would take too long.
    """
    patterns = list(dict.fromkeys(chain.from_iterable(map(_patterns, words))))
    if len(patterns) > _MOST_PATTERNS:
        return TOO_MANY
    found: dict[str, None] = {}
    names = _Names()
    for at in folders if patterns else ():
        for pattern in patterns:
            found |= dict.fromkeys(names.matches(at, pattern))
            if names.exhausted or len(found) > MOST_FILES:
                return TOO_MANY
    return list(found)


def _patterns(word: str) -> Iterator[str]:
    """Yield a word that is a glob, or that has lists in braces, with stars in their place.

    Where nothing else is in their place, `d/{a,b}`, the names are known without them.
    """
    pattern = word
    for _ in range(_DEEPEST):
        pattern, count = _LIST.subn("*", pattern)
        if not count:
            break
    if _GLOB.search(pattern) and (pattern == word or pattern.rpartition("/")[2].strip("*")):
        yield pattern


class _Names:
    """The names in folders, each listed once."""

    def __init__(self) -> None:
        self._listed: dict[str, list[str]] = {}
        self._left = _MOST_COMPARED

    @property
    def exhausted(self) -> bool:
        """Return whether more was compared than one command may have compared."""
        return self._left < 0

    def matches(self, folder: str, pattern: str) -> list[str]:
        """Return the paths that a pattern matches in a folder."""
        found = ["/" if pattern.startswith("/") else folder]
        *above, last = pattern.rstrip("/").split("/")
        for part in filter(None, above):
            found = [path for at in found for path in self._within(at, part)]
        return [path for at in found if not _is_system(at) for path in self._within(at, last)]

    def _within(self, folder: str, part: str) -> Iterator[str]:
        if not _GLOB.search(part):
            path = os.path.join(folder, part)
            yield from (path,) if is_there(path) else ()
            return
        fits = _compiled(part)
        for name in self._names(folder):
            if fits.match(name) and (name[0] != "." or part[0] == "."):
                yield os.path.join(folder, name)

    def _names(self, folder: str) -> list[str]:
        if folder not in self._listed:
            self._listed[folder] = _listed(folder)
        names = self._listed[folder]
        self._left -= _LISTED + len(names)
        spend((_LISTED + len(names)) * _COMPARED)
        return [] if self.exhausted else names


def _is_system(folder: str) -> bool:
    """Return whether only the operating system's own programs are in a folder: none is bound."""
    return in_system_directory(os.path.join(os.path.realpath(folder), ""))


def _compiled(part: str) -> re.Pattern[str]:
    # `fnmatch` knows no classes, and excludes with `!` alone.
    plain = _CLASS.sub("?", part).replace("[^", "[!")
    return re.compile(translate(plain))


def _listed(folder: str) -> list[str]:
    if leads_elsewhere(folder):
        return []
    try:
        return os.listdir(folder)
    except OSError as error:
        check_looked(error)
        return []
    except ValueError:  # NUL in it: no such folder
        return []
