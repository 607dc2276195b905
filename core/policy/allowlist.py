"""Match program paths against an agent's allowlist (S1 "Allowlist (per agent)").

A pattern stands for a whole absolute path: ``*`` and ``?`` stay inside one segment, ``**`` spans
any number of them, brackets are literal, ASCII letters match in either case. Patterns without a
directory are ignored with a warning, for a base name says nothing about which file it is. Segments
are matched one by one: no regular expression, hence no blow-up (exec.md §3 "Policy").
"""

import re
from collections.abc import Iterable, Sequence

from core.model.approval import AllowlistEntry

_WILD = re.compile(r"[*?]")
_NORMAL = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f\x7f]+)+")
_ROOT_FOLDERS = frozenset(["bin", "sbin"])
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

_Glob = tuple[tuple[str, ...], AllowlistEntry]


def _fold(text: str) -> str:
    # str.lower() alone would fold U+212A (kelvin) onto k, and so widen a pattern.
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _is_normal(path: str) -> bool:
    """Tell whether a path is absolute, without ``..``, ``//`` or control characters."""
    return _NORMAL.fullmatch(path) is not None


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern may stand for more than one path."""
    return _WILD.search(pattern) is not None


def is_literal(path: str) -> bool:
    """Tell whether a path, taken as a pattern, covers itself and nothing else but its case."""
    return _is_normal(path) and not is_glob(path)


class Allowlist:
    """An index of patterns: a look-up costs microseconds at 100,000 of them."""

    __slots__ = ("_any_name", "_exact", "_lint", "_named")

    def __init__(self, entries: Iterable[AllowlistEntry], home: str) -> None:
        self._exact: dict[str, AllowlistEntry] = {}
        self._named: dict[tuple[str, str], list[_Glob]] = {}
        self._any_name: dict[str, list[_Glob]] = {}
        self._lint: list[str] = []
        for entry in entries:
            self._add(entry, home)

    def lint(self) -> tuple[str, ...]:
        """Return a sentence for each pattern that is ignored or matches every program."""
        return tuple(self._lint)

    def match(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths, an exact one before a wildcard.

        ``paths`` are the invoked and the real path of one program. A path that is relative, not
        normal (``..``, ``//``) or holds a control character never matches.
        """
        found = self.exact(paths)
        if found is not None:
            return found
        for path in paths:
            if _is_normal(path):
                found = self._glob(_fold(path))
                if found is not None:
                    return found
        return None

    def exact(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that names one of the paths without a wildcard; the cheap half."""
        for path in paths:
            found = self._exact.get(_fold(path))  # its keys are normal, so no other path equals one
            if found is not None:
                return found
        return None

    def _glob(self, path: str) -> AllowlistEntry | None:
        """Look at the patterns below each folder that the path lies in, the nearest first."""
        end = path.rindex("/")
        name = path[end + 1 :]
        while True:
            prefix = path[:end]
            for globs in (self._named.get((prefix, name)), self._any_name.get(prefix)):
                if globs is not None:
                    found = _first(globs, path[end + 1 :].split("/"))
                    if found is not None:
                        return found
            if end <= 0:
                return None
            end = path.rindex("/", 0, end)

    def _add(self, entry: AllowlistEntry, home: str) -> None:
        pattern = entry.pattern
        if pattern.startswith("~/"):
            if is_glob(home):
                self._lint.append(f"{pattern!r} is ignored: the home directory holds a wildcard")
                return
            pattern = f"{home.rstrip('/')}{pattern[1:]}"
        if not _is_normal(pattern):
            self._lint.append(f"{entry.pattern!r} is ignored: {_complaint(pattern)}")
            return
        parts = tuple(_fold(pattern)[1:].split("/"))
        if all(part == "**" for part in parts):
            self._lint.append(f"{entry.pattern!r} lets every program run")
        self._index(parts, entry)
        if parts[0] in _ROOT_FOLDERS:
            # Where /bin is a link to /usr/bin, plans name the latter; people list either.
            self._index(("usr", *parts), entry)

    def _index(self, parts: tuple[str, ...], entry: AllowlistEntry) -> None:
        wild = next((i for i, part in enumerate(parts) if is_glob(part)), None)
        if wild is None:
            self._exact.setdefault("/" + "/".join(parts), entry)
            return
        prefix = "".join(f"/{part}" for part in parts[:wild])
        glob = (parts[wild:], entry)
        if is_glob(parts[-1]):
            self._any_name.setdefault(prefix, []).append(glob)
        else:
            self._named.setdefault((prefix, parts[-1]), []).append(glob)


def _complaint(pattern: str) -> str:
    if "/" not in pattern:
        return "a base name says nothing about which file it is; write the whole path"
    if not pattern.startswith("/"):
        return "it is not absolute; begin it with `/` or `~/`"
    return "it holds `..`, `//` or a control character"


def _first(globs: Sequence[_Glob], parts: Sequence[str]) -> AllowlistEntry | None:
    for pattern, entry in globs:
        if _match_segments(pattern, parts):
            return entry
    return None


def _match_segments(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Match segments; on a mismatch only the last ``**`` grows, so the cost is a product."""
    at = index = 0
    star = mark = -1
    while index < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, mark = at, index
            at += 1
        elif at < len(pattern) and _match_segment(pattern[at], parts[index]):
            at += 1
            index += 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return all(part == "**" for part in pattern[at:])


def _match_segment(pattern: str, text: str) -> bool:
    """Match one segment; the same walk with ``*`` over characters."""
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
