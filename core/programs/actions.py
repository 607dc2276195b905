"""Describe what a command does to the people who are asked (``data/actions.toml``).

This decides nothing. An entry counts only if it lists every option of the command: one that is not
listed might make the words wrong.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from re import Pattern

from core.programs.profiles.tables import Table, section, table, words

_OPEN = 1 << 30
_TWO = 2
_PLACES = ("{first}", "{last}", "{most}", "{rest}", "{all}")


@dataclass(frozen=True, slots=True)
class Said:
    """Words with ``{}`` for operands, and for each the places of its operands in the vector.

    ``added`` is what options add to the words; it and ``effects`` come from the table alone.
    """

    words: str
    operands: tuple[tuple[int, ...], ...]
    added: tuple[str, ...]
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Action:
    """One entry of the table; ``options`` has for each what it adds, and how it takes a value.

    ``first``: words after the first operand are not the program's own; ``goes_on``: options right
    after it are; ``single``: the program takes one option, and later words like one are operands.
    ``plain``: what operands must match for ``says``, and how many of them are checked (0: all);
    ``otherwise`` and its effects are for the others. ``once``: options that must not be repeated.
    """

    says: str
    two: str
    bare: str
    otherwise: str
    plain: tuple[Pattern[str], int] | None
    effects: tuple[str, ...]
    otherwise_effects: tuple[str, ...]
    once: frozenset[str]
    least: int
    most: int
    first: bool
    single: bool
    goes_on: bool
    options: Mapping[str, tuple[tuple[str, ...], frozenset[str]]]
    prefixes: Mapping[str, str]


@dataclass(slots=True)
class _Read:
    """What has been read of a vector so far."""

    operands: list[int] = field(default_factory=list)
    added: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


@lru_cache(maxsize=1024)
def said_of(name: str, argv: tuple[str, ...]) -> Said | None:
    """Return what the program ``name`` does with these arguments, ``None`` if that is unknown.

    ``argv[0]`` is the program.
    """
    for spelled, action in _actions().get(name, {}).items():
        subcommand = tuple(spelled.split())
        if argv[1 : 1 + len(subcommand)] == subcommand:
            found = _said(action, argv, 1 + len(subcommand))
            if found is not None:
                return found
    return None


def examples() -> Iterator[tuple[str, str]]:
    """Yield each example line of the table with the sentence expected for it, empty for none."""
    known = table("actions")
    for names in known:
        programs = section(known, names)
        for entry in programs:
            lines = section(section(programs, entry), "examples")
            yield from ((line, str(sentence)) for line, sentence in lines.items())


def _said(action: _Action, argv: tuple[str, ...], start: int) -> Said | None:
    read = _read(action, argv, start)
    if read is None or not action.least <= len(read.operands) <= action.most:
        return None
    text, effects = _worded(action, [argv[place] for place in read.operands])
    if not text:
        return None
    for place in read.operands[1:]:
        if argv[place][:1] in action.prefixes:
            read.added[action.prefixes[argv[place][:1]]] = None
    operands = _filled(text, read.operands)
    return Said(_blanks(text), operands, tuple(read.added), effects)


def _worded(action: _Action, operands: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the words for these operands, empty for none, and the effects that go with them."""
    if not operands:
        return action.bare, action.effects
    pattern, looked_at = action.plain or (None, 0)
    for operand in operands[: looked_at or None] if pattern else ():
        if pattern is not None and pattern.fullmatch(operand) is None:
            return action.otherwise, action.otherwise_effects
    return (action.two if len(operands) == _TWO else "") or action.says, action.effects


def _read(action: _Action, argv: Sequence[str], start: int) -> _Read | None:
    """Read the words from ``start``; ``None`` if an option is not listed."""
    read, at = _Read(), start
    while at < len(argv):
        word = argv[at]
        ended = bool(read.operands) and action.first
        if word[:1] == "-" and (
            (action.goes_on and len(read.operands) == 1) or (action.single and at > start)
        ):
            return None
        if word == "--" and not ended:
            read.operands += range(at + 1, len(argv))
            break
        if ended or word[:1] != "-":
            read.operands.append(at)
            at += 1
            continue
        taken = _option(action, word, read)
        if not taken:
            return None
        at += taken
    return read if at <= len(argv) else None


def _option(action: _Action, word: str, read: _Read) -> int:
    """Record what an option adds; return how many words it takes, 0 if it is not listed."""
    name, equals, _ = word.partition("=")
    if _repeated(action, word, read):
        return 0
    if word in action.options:
        return 1 + ("=" in _note(action, word, read))
    if equals and name in action.options:
        return 1 if _note(action, name, read) else 0
    if word.startswith("--") or len(word) == 1:
        return 0
    return _cluster(action, word, read)


def _repeated(action: _Action, name: str, read: _Read) -> bool:
    """Return whether an option means more because it is repeated."""
    return name in action.once and not read.seen.isdisjoint(action.once)


def _cluster(action: _Action, word: str, read: _Read) -> int:
    """Read short options after one dash; the value of one may be glued to it."""
    for at, letter in enumerate(word[1:], 2):
        name = f"-{letter}"
        if name not in action.options or _repeated(action, name, read):
            return 0
        kinds = _note(action, name, read)
        if kinds:
            return 2 if "=" in kinds and not word[at:] else 1
    return 1


def _note(action: _Action, name: str, read: _Read) -> frozenset[str]:
    """Record what a listed option adds; return how it takes a value: ``=``, ``?`` or not at all."""
    added, kinds = action.options[name]
    read.seen.add(name)
    read.added.update(dict.fromkeys(added))
    return kinds


def _blanks(text: str) -> str:
    for place in _PLACES:
        text = text.replace(place, "{}")
    return text


def _filled(text: str, operands: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    parts = {
        "{first}": operands[:1],
        "{last}": operands[-1:],
        "{most}": operands[:-1],
        "{rest}": operands[1:],
        "{all}": operands,
    }
    named = sorted((text.index(place), place) for place in _PLACES if place in text)
    return tuple(tuple(parts[place]) for _, place in named)


@cache
def _actions() -> dict[str, dict[str, _Action]]:
    """Return the entries of each program, the longest subcommand first."""
    found: dict[str, dict[str, _Action]] = {}
    known = table("actions")
    for names in known:
        programs = section(known, names)
        made = {
            spelled: _action(section(programs, entry))
            for entry in programs
            for spelled in entry.split("|")
        }
        ordered = dict(sorted(made.items(), key=lambda one: -len(one[0].split())))
        found |= dict.fromkeys(names.split("|"), ordered)
    return found


def _action(entry: Table) -> _Action:
    prefixes = section(entry, "prefixes")
    effects = str(entry.get("effects", ""))
    return _Action(
        says=str(entry.get("says", "")),
        two=str(entry.get("two", "")),
        bare=str(entry.get("bare", "")),
        otherwise=str(entry.get("otherwise", "")),
        plain=_plain(entry),
        effects=tuple(effects.split(", ")),
        otherwise_effects=tuple(str(entry.get("otherwise_effects", effects)).split(", ")),
        once=frozenset(words(entry, "once")),
        least=int(str(entry.get("least", 0))),
        most=int(str(entry.get("most", _OPEN))),
        first=entry.get("first") is True,
        single=entry.get("single") is True,
        goes_on=entry.get("goes_on") is True,
        options=_options(entry),
        prefixes={sign: one for one in prefixes for sign in words(prefixes, one)},
    )


def _plain(entry: Table) -> tuple[Pattern[str], int] | None:
    """Return what operands must match, and how many of them are checked (0: all)."""
    for key, looked_at in (("plain", 0), ("plain_first", 1)):
        if key in entry:
            return re.compile(str(entry[key]), re.ASCII), looked_at
    return None


def _options(entry: Table) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    """Return the listed options, each with the words that it adds and how it takes a value."""
    found: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
    adds = section(entry, "adds")
    listed = [("", word) for word in words(entry, "options")]
    listed += [(phrase, word) for phrase in adds for word in words(adds, phrase)]
    for phrase, word in listed:
        name = word.rstrip("=?")
        before, kinds = found.get(name, ((), frozenset()))
        added = (*before, phrase) if phrase else before
        found[name] = (added, kinds | frozenset(word.removeprefix(name)))
    return found
