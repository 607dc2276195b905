"""Find where the inner command of a wrapper begins, by an exact grammar of what precedes it.

Each ``[grammar.NAME]`` of ``data/wrappers.toml`` lists the options of one implementation with
their values, and the operands before the inner command. The programs stop at the first word that
is not an option (getopt's ``+``), and so does the scan. It fails on GNU abbreviations of long
options, unknown options and odd values: what is not listed is not understood.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from core.programs.profiles.tables import Table, section, table, words


@dataclass(frozen=True, slots=True)
class Opaque:
    """A wrapper whose inner command is not known for certain; ``why`` is a phrase for a person."""

    why: str


@dataclass(frozen=True, slots=True)
class Start:
    """The index of the inner command's name, and what ``env`` sets for it."""

    at: int
    assignments: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Grammar:
    """The words that may precede the inner command.

    ``values`` maps an option to the kind of its value, ``number`` is the kind of the old spelling
    ``-5`` (empty: it has none), one of ``one_of`` must be given unless that is empty.
    ``open_ended`` wrappers add arguments that they read from standard input. ``asks`` is why a
    person is asked although the inner command is known, empty if none is.
    """

    flags: frozenset[str]
    values: Mapping[str, str]
    operands: tuple[str, ...]
    one_of: frozenset[str]
    number: str
    assigns: bool
    open_ended: bool
    asks: str


@cache
def grammars() -> Mapping[str, Grammar]:
    """Return the grammars of all wrappers that are unwrapped, by their plain name."""
    known = section(table("wrappers"), "grammar")
    return {name: _grammar(section(known, name)) for name in known}


def _grammar(holder: Table) -> Grammar:
    by_kind = section(holder, "values")
    return Grammar(
        flags=frozenset(words(holder, "flags")),
        values={option: kind for kind in by_kind for option in words(by_kind, kind)},
        operands=words(holder, "operands"),
        one_of=frozenset(words(holder, "one_of")),
        number="".join(words(holder, "number")),
        assigns=holder.get("assigns") is True,
        open_ended=holder.get("open_ended") is True,
        asks=str(holder.get("asks", "")),
    )


@cache
def _kind(name: str) -> re.Pattern[str]:
    """Return the pattern of a kind.

    Raises:
        KeyError: no such kind; the shipped data is broken.
    """
    pattern = section(table("wrappers"), "kinds")[name]
    return re.compile(str(pattern), re.DOTALL)


def _fits(kind: str, word: str) -> bool:
    return _kind(kind).fullmatch(word) is not None


def find_command(grammar: Grammar, argv: Sequence[str]) -> Start | Opaque:
    """Return where the inner command of ``argv`` begins; ``argv[0]`` is the wrapper."""
    seen: set[str] = set()
    at = _after_options(grammar, argv, seen)
    if isinstance(at, Opaque):
        return at
    if grammar.one_of and grammar.one_of.isdisjoint(seen):
        return Opaque(f"it needs one of {', '.join(sorted(grammar.one_of))}")
    assignments: list[tuple[str, str]] = []
    while grammar.assigns and at < len(argv) and "=" in argv[at]:
        name, _, value = argv[at].partition("=")
        assignments.append((name, value))
        at += 1
    for kind in grammar.operands:
        if at >= len(argv) or not _fits(kind, argv[at]):
            return Opaque(f"it needs a {kind} before its command")
        at += 1
    return _checked(argv, Start(at, tuple(assignments)))


def _checked(argv: Sequence[str], start: Start) -> Start | Opaque:
    name = argv[start.at] if start.at < len(argv) else ""
    if not name.strip():
        return Opaque("it names no command")
    if name.startswith("-"):
        return Opaque(f"{name!r} is where the command should be")
    return start


def _after_options(grammar: Grammar, argv: Sequence[str], seen: set[str]) -> int | Opaque:
    """Return the index after the options; ``seen`` collects their names."""
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        word = argv[at]
        if word == "--":
            return at + 1
        if grammar.number and _fits(grammar.number, word[1:]):
            at += 1
            continue
        following = argv[at + 1] if at + 1 < len(argv) else None
        option = _long if word.startswith("--") else _cluster
        taken = option(grammar, word, following, seen)
        if not taken:
            return Opaque(f"the option {word!r} is unknown here, or its value is")
        at += taken
    return at


def _long(grammar: Grammar, word: str, following: str | None, seen: set[str]) -> int:
    """Return how many words a long option takes; 0 if it is not understood."""
    name, equals, value = word.partition("=")
    seen.add(name)
    if name in grammar.flags:
        return 0 if equals else 1
    kind = grammar.values.get(name)
    if kind is None:
        return 0
    if equals:
        return 1 if _fits(kind, value) else 0
    return 2 if following is not None and _fits(kind, following) else 0


def _cluster(grammar: Grammar, word: str, following: str | None, seen: set[str]) -> int:
    """Return how many words a cluster of short options takes; 0 if it is not understood."""
    for index, letter in enumerate(word[1:], 1):
        name, glued = f"-{letter}", word[index + 1 :]
        seen.add(name)
        kind = grammar.values.get(name)
        if kind is not None and glued:
            return 1 if _fits(kind, glued) else 0
        if kind is not None:
            return 2 if following is not None and _fits(kind, following) else 0
        if name not in grammar.flags:
            return 0
    return 1 if len(word) > 1 else 0
