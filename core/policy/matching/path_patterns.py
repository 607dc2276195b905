"""Match whole absolute paths against patterns (S1 "Allowlist (per agent)").

A pattern matches a whole absolute path: ``*`` and ``?`` stay inside one segment, ``**`` spans
any number of them, brackets are literal, ASCII letters match in either case. Segments are matched
one by one: no regular expression, so no blow-up.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

_WILD = re.compile(r"[*?]")
_NORMAL = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f\x7f]+)+")
_ROOT_FOLDERS = frozenset(["bin", "sbin"])
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

T = TypeVar("T")
_Glob = tuple[tuple[str, ...], T]


def fold(text: str) -> str:
    """Return a path as patterns compare it: ASCII letters in lower case, the rest as it is."""
    # str.lower() alone would fold U+212A (kelvin) onto k, and so widen a pattern.
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _is_normal(path: str) -> bool:
    """Return whether a path is absolute, without ``..``, ``//`` or control characters."""
    return _NORMAL.fullmatch(path) is not None


def is_glob(pattern: str) -> bool:
    """Return whether a pattern may stand for more than one path."""
    return _WILD.search(pattern) is not None


def is_literal(path: str) -> bool:
    """Return whether a path, taken as a pattern, covers nothing but itself, in any case."""
    return _is_normal(path) and not is_glob(path)


def covers_everything(pattern: str) -> bool:
    """Return whether a usable pattern matches every program."""
    return all(part == "**" for part in pattern[1:].split("/"))


def at_home(pattern: str, home: str) -> str:
    """Return a pattern with its ``~/`` expanded."""
    return f"{home.rstrip('/')}{pattern[1:]}" if pattern.startswith("~/") else pattern


def complaint(pattern: str, home: str) -> str | None:
    """Return why a pattern can never match, ``None`` if it can."""
    if pattern.startswith("~/"):
        if is_glob(home):
            return "the home directory holds a wildcard"
        pattern = at_home(pattern, home)
    if _is_normal(pattern):
        return None
    if "/" not in pattern:
        return "a base name says nothing about which file it is; write the whole path"
    if not pattern.startswith("/"):
        return "it is not absolute; begin it with `/` or `~/`"
    if pattern.endswith("/"):
        return "it ends with `/`, which names a folder; write `*` after it for the programs in it"
    return "it holds `.` or `..` between slashes, `//` or a control character"


class PathIndex(Generic[T]):
    """An index of patterns with the value of each: microseconds per look-up at 100,000."""

    __slots__ = ("_any_name", "_exact", "_named")

    def __init__(self) -> None:
        self._exact: dict[str, T] = {}
        self._named: dict[tuple[str, str], list[_Glob[T]]] = {}
        self._any_name: dict[str, list[_Glob[T]]] = {}

    def add(self, pattern: str, found: T) -> None:
        """Index an absolute pattern without a ``complaint``; of two equal ones the first stays."""
        parts = tuple(fold(pattern)[1:].split("/"))
        self._index(parts, found)
        if parts[0] in _ROOT_FOLDERS:
            # Where /bin is a link to /usr/bin, plans name the latter; people list either.
            self._index(("usr", *parts), found)

    def match(self, paths: Sequence[str]) -> T | None:
        """Return what covers one of the paths, an exact one before a wildcard.

        ``paths`` are the invoked and the real path of one program. A path that is relative, not
        normal (``..``, ``//``) or holds a control character never matches.
        """
        found = self.exact(paths)
        if found is not None:
            return found
        for path in paths:
            if _is_normal(path):
                found = self._glob(fold(path))
                if found is not None:
                    return found
        return None

    def exact(self, paths: Sequence[str]) -> T | None:
        """Return what names one of the paths without a wildcard; the cheap half."""
        for path in paths:
            found = self._exact.get(fold(path))  # its keys are normal, so no other path equals one
            if found is not None:
                return found
        return None

    def every(self, path: str) -> Iterator[T]:
        """Yield the value of each pattern that covers a path, one of them perhaps twice."""
        if not _is_normal(path):
            return
        path = fold(path)
        if path in self._exact:
            yield self._exact[path]
        for globs, parts in self._near(path):
            yield from (found for pattern, found in globs if segments_fit(pattern, parts))

    def _glob(self, path: str) -> T | None:
        for globs, parts in self._near(path):
            found = _first(globs, parts)
            if found is not None:
                return found
        return None

    def _near(self, path: str) -> Iterator[tuple[list[_Glob[T]], list[str]]]:
        """Yield the patterns below each folder that contains a path, the nearest folder first."""
        end = path.rindex("/")
        name = path[end + 1 :]
        while True:
            prefix = path[:end]
            for globs in (self._named.get((prefix, name)), self._any_name.get(prefix)):
                if globs is not None:
                    yield globs, path[end + 1 :].split("/")
            if end <= 0:
                return
            end = path.rindex("/", 0, end)

    def _index(self, parts: tuple[str, ...], found: T) -> None:
        wild = next((i for i, part in enumerate(parts) if is_glob(part)), None)
        if wild is None:
            self._exact.setdefault("/" + "/".join(parts), found)
            return
        prefix = "".join(f"/{part}" for part in parts[:wild])
        glob = (parts[wild:], found)
        if is_glob(parts[-1]):
            self._any_name.setdefault(prefix, []).append(glob)
        else:
            self._named.setdefault((prefix, parts[-1]), []).append(glob)


def _first(globs: Sequence[_Glob[T]], parts: Sequence[str]) -> T | None:
    for pattern, found in globs:
        if segments_fit(pattern, parts):
            return found
    return None


def segments_fit(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Match segments; on a mismatch only the last ``**`` grows, so the cost is a product."""
    at = index = 0
    star = mark = -1
    while index < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, mark = at, index
            at += 1
        elif at < len(pattern) and segment_fits(pattern[at], parts[index]):
            at += 1
            index += 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return all(part == "**" for part in pattern[at:])


def segment_fits(pattern: str, text: str) -> bool:
    """Match one segment, or any text: ``*`` is any run of characters, ``?`` one."""
    if not is_glob(pattern):
        return pattern == text
    at = index = 0
    star = mark = -1
    while index < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, index
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", text[index]):
            at += 1
            index += 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return pattern[at:].strip("*") == ""
