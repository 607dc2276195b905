"""Read a git configuration; ``core.planning.git.obedience`` knows what its settings mean.

The reader takes less than git does (git-config(1), "Syntax"): one setting per line, nothing
continued over lines, no control characters. What it does not take is a fault, and asks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_MOST: Final = 8_192
"""Settings in one file; nobody writes one with more."""

_SECTION = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\["\\])*)")?\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f\ufeff]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_PIECE = re.compile(r'"(?:[^"\\]|\\[ntb"\\])*"|\\[ntb"\\]|[^"\\#;]+|[#;].*')


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: section and key in lower case joined by dots, ``inner`` is the quoted part.

    ``line`` is its line number, from 1.
    """

    section: str
    inner: str | None
    key: str
    value: str
    line: int = 0

    @property
    def name(self) -> str:
        """Return the name as git prints it."""
        middle = "" if self.inner is None else f".{self.inner}"
        return f"{self.section}{middle}.{self.key}"

    @property
    def form(self) -> str:
        """Return the name with ``*`` for its free part."""
        return (
            f"{self.section}.{self.key}" if self.inner is None else f"{self.any_key[:-1]}{self.key}"
        )

    @property
    def any_key(self) -> str:
        """Return the form of all names in its section."""
        return f"{self.section}.*" if self.inner is None else f"{self.section}.*.*"


@dataclass(frozen=True, slots=True)
class UnreadableConfig:
    """A configuration that is not read: its first line, from 1, that is not understood."""

    line: int


@lru_cache(maxsize=256)
def read_settings(text: str) -> tuple[Setting, ...] | UnreadableConfig:
    """Return the settings of a configuration, in order."""
    found: list[Setting] = []
    place: tuple[str, str | None] | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if _CONTROL.search(line):
            return UnreadableConfig(number)
        head = _SECTION.match(line)
        if head is not None:
            place = _place(head)
            line = line[head.end() :].lstrip(" \t")
        if not line or line[0] in "#;":
            continue
        one = _setting(line, place, number)
        if one is None or len(found) >= _MOST:
            return UnreadableConfig(number)
        found.append(one)
    return tuple(found)


def _place(head: re.Match[str]) -> tuple[str, str | None]:
    """Return the section that a header opens; ``[a.B]`` is an old way to write ``[a "b"]``."""
    name, inner = head.group(1).lower(), head.group(2)
    if inner is not None:
        return name, _ESCAPE.sub(r"\1", inner)
    outer, dot, rest = name.partition(".")
    return outer, rest if dot else None


def _setting(line: str, place: tuple[str, str | None] | None, number: int) -> Setting | None:
    found = _SETTING.fullmatch(line)
    if found is None or place is None:
        return None
    key, written = found.group(1).lower(), found.group(2)
    value = "" if written is None else _value(written)
    return None if value is None else Setting(*place, key, value, number)


def _value(written: str) -> str | None:
    """Return what a value means without quotes and comment, ``None`` if it is not understood."""
    parts: list[str] = []
    bare = 0  # characters at the end that count as blank unless something follows
    for piece in _pieces(written):
        if piece is None:
            return None
        if piece[0] in "#;":
            break
        if piece[0] in '"\\':
            inner = piece[1:-1] if piece[0] == '"' else piece
            parts.append(_ESCAPE.sub(lambda one: _ESCAPES[one.group(1)], inner))
            bare = 0
        else:
            parts.append(piece)
            bare = len(piece) - len(piece.rstrip(" \t"))
    value = "".join(parts)
    return value[:-bare] if bare else value


def _pieces(written: str) -> Iterator[str | None]:
    at = 0
    while at < len(written):
        piece = _PIECE.match(written, at)
        yield piece.group() if piece else None
        if piece is None:
            return
        at = piece.end()
