"""Look up many words in many folders: where there are many words, each folder is listed once.

A limit on words is one that an agent can fill with words of no use. So all words are looked up,
and a command whose words lead to too much cannot be started.
"""

# ruff: noqa: PTH118, PTH208
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from core.files.lookup import check_looked, status_of
from core.planning.code.words.parts import ENDS_OF_WORDS, held
from core.planning.paths.pins import Unpinned, spend

MOST_FOLDERS: Final = 256
_MOST_LOOKUPS: Final = 10_000
_LOOKUP: Final = 16 << 10
"""Bytes that are hashed in about the time of a lookup, which is 4 to 25 µs."""

_FEW: Final = 16
"""So many names are looked up faster than a folder is listed."""

_DEEPEST: Final = 4
"""Folders in one word that are listed; a path may have thousands."""

_MADE_UP: Final = re.compile(r"//?(?:proc|sys|dev(?!/shm(?:/|\Z)))(?:/|\Z)")
_CLOSED: Final = frozenset((errno.EACCES, errno.EPERM))
_FIRST: Final = re.compile(r"(?:\.?/+)*([^/]*)")
_ODD: Final = re.compile(r"[%?#\0]|~\d|\A\.*\Z")
"""Names that mean another one to vfat (8.3 names), to Node (URLs), or to all (``..``)."""

_OF_PACKAGE: Final = "__init__."
"""A module may be meant whose package does not exist."""

_ENDING: Final = re.compile(r"\.(?:[cm]?js|ts|node)\Z", re.IGNORECASE)
"""What Node may add to a name."""

TOO_MANY: Final = Unpinned("names too many files for all of them to be looked for")
TOO_MANY_FOLDERS: Final = Unpinned(
    f"names more than {MOST_FOLDERS} folders in which its files may be"
)
MOST_FILES: Final = 1024
TOO_MANY_FILES: Final = Unpinned(f"names more than {MOST_FILES} files that may be code")
_EXCESSES: Final = frozenset(one.why for one in (TOO_MANY, TOO_MANY_FOLDERS, TOO_MANY_FILES))


def is_excess(problem: str) -> bool:
    """Return whether a command's problem is that its words lead to too much."""
    return problem in _EXCESSES


class Names:
    """Words that may name files, to be looked up in one folder after another."""

    def __init__(self, words: Iterable[str]) -> None:
        each = dict.fromkeys(filter(None, words))
        self._absolute = {one: one.lstrip("/") for one in each if one[0] == "/"}
        self._relative = _Paths(one for one in each if one[0] != "/")
        self._left = _MOST_LOOKUPS

    @property
    def exhausted(self) -> bool:
        """Return whether more was looked up than one command may have looked up."""
        return self._left < 0

    def absolute(self) -> Iterator[str]:
        """Yield the absolute words that may name something."""
        there = {*_Paths(self._absolute.values()).within("/"), ""}
        found = [one for one, path in self._absolute.items() if path in there]
        self._count(len(found))
        return iter(found)

    def within(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield each relative word that may name something in a folder, and its path there.

        Raises:
            OSError: the lookup failed.
            HashingLimit: it would take too long.
        """
        if self.exhausted:
            return
        found = self._relative.within(folder)
        self._count(1 + len(found))
        yield from ((word, os.path.join(folder, word)) for word in found)

    def _count(self, lookups: int) -> None:
        self._left -= lookups
        spend(lookups * _LOOKUP)


class _Paths:
    """Relative paths by their first part: where there are many, only what is listed is tried."""

    def __init__(self, paths: Iterable[str], depth: int = 0) -> None:
        self._depth = depth
        self._odd: list[str] = []
        self._groups: dict[str, dict[str, str]] = {}
        self._spellings: dict[str, list[str]] = {}
        self._below: dict[str, _Paths] = {}
        for path in filter(None, paths):
            self._add(path)

    def _add(self, path: str) -> None:
        first = _FIRST.match(path)
        if first is None or _ODD.search(first[1]) or _OF_PACKAGE in path:
            self._odd.append(path)
            return
        if first[1] not in self._groups:
            self._groups[first[1]] = {}
            self._spellings.setdefault(_key(first[1]), []).append(first[1])
        self._groups[first[1]][path] = path[first.end() :].lstrip("/")

    def within(self, folder: str) -> list[str]:
        """Return those that may name something in a folder."""
        listed = _listed(folder) if len(self._groups) > _FEW else None
        keys = self._spellings if listed is None else sorted(self._spellings.keys() & listed)
        groups = (one for key in keys for one in self._spellings[key])
        return [*chain.from_iterable(self._in(folder, one) for one in groups), *self._odd]

    def _in(self, folder: str, first: str) -> Iterable[str]:
        group = self._groups[first]
        if len(group) <= _FEW or self._depth == _DEEPEST:
            return group
        if first not in self._below:
            self._below[first] = _Paths(group.values(), self._depth + 1)
        there = {*self._below[first].within(os.path.join(folder, first)), ""}
        return (path for path, rest in group.items() if rest in there)


def _listed(folder: str) -> frozenset[str] | None:
    """Return the keys of the names in a folder, ``None`` if others may be found in it too."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        check_looked(error)
        return None if error.errno in _CLOSED else frozenset()
    except ValueError:  # NUL in it: no such folder
        return frozenset()
    keys = [_key(one) for one in names]
    return frozenset((*keys, *(_ENDING.sub("", one) for one in keys)))


def _key(name: str) -> str:
    """Return what is the same for all names that a file system may take for each other.

    Some fold case and normalise, some ignore code points (CVE-2014-9390), vfat ignores dots at the
    end. Names with the same key are only looked up.
    """
    if not name.isascii():
        folded = unicodedata.normalize("NFKD", name).casefold()
        name = "".join(filter(str.isascii, folded)) or folded
    return name.lower().rstrip(". ")


def leads_elsewhere(path: str) -> bool:
    """Return whether a path means something else to a command, or the kernel makes it up.

    Below ``/dev``, only ``/dev/shm`` has files of its own; ``/dev/fd`` leads to ``/proc``.
    """
    return _MADE_UP.match(os.path.normpath(path)) is not None


def folders_named(cwd: str, words: Iterable[str]) -> list[str] | Unpinned:
    """Return the working folder and all folders named, within it or within each other."""
    names = Names(_places(words))
    found = _Folders(cwd)
    for path in names.absolute():
        found.add(path)
    for at in found.paths:  # grows
        for _, path in names.within(at):
            found.add(path)
        if len(found.paths) > MOST_FOLDERS:
            return TOO_MANY_FOLDERS
    return TOO_MANY if names.exhausted else found.paths


class _Folders:
    """Folders, each once, whatever its path."""

    def __init__(self, cwd: str) -> None:
        self.paths = [cwd]
        status = status_of(cwd)
        self._seen = set() if status is None else {(status.st_dev, status.st_ino)}

    def add(self, path: str) -> None:
        # A shell leaves `link/..` for the folder above the link, other programs do not.
        for one in dict.fromkeys((os.path.normpath(path), *((path,) if ".." in path else ()))):
            status = None if leads_elsewhere(one) else status_of(one)
            if status is None or not stat.S_ISDIR(status.st_mode):
                continue
            if (status.st_dev, status.st_ino) not in self._seen:
                self._seen.add((status.st_dev, status.st_ino))
                self.paths.append(one)


def paths_named(folders: Iterable[str], words: Iterable[str]) -> list[str] | Unpinned:
    """Return the paths in folders at which words may name a file."""
    names = Names(words)
    found = dict.fromkeys(names.absolute())
    for at in folders:
        found.update(dict.fromkeys(path for _, path in names.within(at)))
    return TOO_MANY if names.exhausted else list(found)


def _places(words: Iterable[str]) -> Iterator[str]:
    """Yield what may name a folder: a whole word, the value of an option, a part of a text."""
    for word in dict.fromkeys(words):
        for whole in (word, *held(word)):
            yield whole
            if ENDS_OF_WORDS.search(whole):
                parts = dict.fromkeys((*whole.split(), *ENDS_OF_WORDS.split(whole)))
                yield from (one for part in parts for one in (part, *held(part)))
