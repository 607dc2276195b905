"""Read a git configuration and find the setting that would make git start a program or reach out.

The reader takes less than git does (git-config(1), "Syntax"): one setting a line, nothing continued
over lines, no control characters. What it does not take is a fault, and asks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from core.policy.tables import section, table, words
from core.policy.wrappers import names_of

WORKTREE: Final = "core.worktree"
"""Harmless only where it names the folder in which the repository was found."""

HOOKS_PATH: Final = "core.hookspath"
"""Harmless only where no hook that a reading command runs lies there."""

_SECTION = re.compile(r'\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\["\\])*)")?\]')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f\ufeff]")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}
_SWITCHES: Final = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))
_PIECE = re.compile(r'"(?:[^"\\]|\\[ntb"\\])*"|\\[ntb"\\]|[^"\\#;]+|[#;].*')


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: section and key in lower case joined by dots, ``inner`` is the quoted part."""

    section: str
    inner: str | None
    key: str
    value: str

    @property
    def name(self) -> str:
        """Return the name as git prints it."""
        middle = "" if self.inner is None else f".{self.inner}"
        return f"{self.section}{middle}.{self.key}"


@dataclass(frozen=True, slots=True)
class Illegible:
    """A configuration that is not read: its first line, from 1, that is not understood."""

    line: int


def reads_repository(word: str, path: str) -> bool:
    """Tell whether a program obeys the configuration of the repository that it stands in."""
    return not _programs().isdisjoint(names_of(word) | names_of(path))


def reading_hooks() -> tuple[str, ...]:
    """Return the names of the hooks that a command which only reads may run."""
    return _listed("hooks")


@lru_cache(maxsize=256)
def read_settings(text: str) -> tuple[Setting, ...] | Illegible:
    """Return the settings of a configuration in their order."""
    found: list[Setting] = []
    place: tuple[str, str | None] | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if _CONTROL.search(line):
            return Illegible(number)
        head = _SECTION.match(line)
        if head is not None:
            place = _place(head)
            line = line[head.end() :].lstrip(" \t")
        if not line or line[0] in "#;":
            continue
        one = _setting(line, place)
        if one is None:
            return Illegible(number)
        found.append(one)
    return tuple(found)


def reaches_out(setting: Setting) -> bool:
    """Tell whether git may start a program, or read other files or hosts, for a setting."""
    if setting.name in _switches():
        return setting.value.lower() not in _SWITCHES
    if not _commands().isdisjoint((f"{setting.section}.*", f"{setting.section}.{setting.key}")):
        return setting.value.lstrip().startswith("!")
    known = _known().get((setting.section, setting.inner is None), frozenset())
    return "*" not in known and setting.key not in known


def _place(head: re.Match[str]) -> tuple[str, str | None]:
    """Return the section that a header opens; ``[a.B]`` is an old way to write ``[a "b"]``."""
    name, inner = head.group(1).lower(), head.group(2)
    if inner is not None:
        return name, _ESCAPE.sub(r"\1", inner)
    outer, dot, rest = name.partition(".")
    return outer, rest if dot else None


def _setting(line: str, place: tuple[str, str | None] | None) -> Setting | None:
    found = _SETTING.fullmatch(line)
    if found is None or place is None:
        return None
    key, written = found.group(1).lower(), found.group(2)
    value = "" if written is None else _value(written)
    return None if value is None else Setting(*place, key, value)


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


@cache
def _programs() -> frozenset[str]:
    return frozenset(_listed("programs"))


@cache
def _commands() -> frozenset[str]:
    return frozenset(_listed("unless_shell"))


@cache
def _switches() -> frozenset[str]:
    return frozenset(_listed("switches"))


def _listed(name: str) -> tuple[str, ...]:
    return words(table("git_settings"), name)


@cache
def _known() -> dict[tuple[str, bool], frozenset[str]]:
    """Return the harmless keys by section, of the section itself and of its quoted parts."""
    settings = section(table("git_settings"), "settings")
    return {
        (name, place == "keys"): frozenset(words(section(settings, name), place))
        for name in settings
        for place in ("keys", "inner")
    }
