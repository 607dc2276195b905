"""Judge arguments by a positive profile: what a profile does not list, it does not know.

A profile names the harmless options of one program in their listed spellings. Abbreviated long
options (CVE-2026-28363), glued short values (CVE-2026-32017) and clusters are parsed, never
guessed; ``--`` ends options; the number of operands depends on the options seen (``grep -e``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.programs.profiles.value_kinds import fits

_PAIR_LENGTH = 2
_OPEN_KINDS = frozenset({"any", "pretty"})
"""Kinds that allow any beginning of a value: another version of the program might take none."""


class Precedence(StrEnum):
    """Which option of a group of modes a program obeys if several are given."""

    LAST = "last"
    FIRST = "first"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class Modes:
    """Options that exclude each other: ``xz -t -d`` decompresses. ``ALONE`` refuses two of them."""

    precedence: Precedence
    options: frozenset[str]


@dataclass(frozen=True, slots=True)
class Profile:
    """The harmless shape of one program's arguments.

    ``flags`` take no value, ``values`` need one of the named kind, ``optional`` ones may have one
    glued or after ``=``. ``consuming`` options bring the pattern themselves, after which
    ``operands_then`` operands are left. ``needs`` are groups of options, one of each of which must
    be given. ``number`` allows the old ``-5`` spelling; ``single`` programs write whole words
    after one dash (``find -name``); ``bundle`` ones take a first word without one (``tar tf``);
    ``ordered`` ones read no option after the first operand (xxd); ``counts_dash`` ones write
    to their second operand, so ``-`` counts as an operand (``uniq - out``); ``apart`` ones never
    glue a value to its option and read on (``tree -Po PATTERN OUT``), as do bundles (``tar tfI``);
    ``first`` is the kind of the first operand if it differs (a sed script). ``modes`` are groups
    of options of which one is in effect; ``needs`` checks only that one. At least ``least``
    operands must be given, ``least_then`` with a ``sparing`` or consuming option.
    """

    flags: frozenset[str]
    values: Mapping[str, str]
    optional: Mapping[str, str]
    operands: int
    operand_kind: str
    consuming: frozenset[str] = frozenset()
    operands_then: int = 0
    needs: tuple[frozenset[str], ...] = ()
    modes: tuple[Modes, ...] = ()
    least: int = 0
    least_then: int = 0
    sparing: frozenset[str] = frozenset()
    first: str | None = None
    number: bool = False
    single: bool = False
    bundle: bool = False
    ordered: bool = False
    counts_dash: bool = False
    apart: bool = False

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Return what the profile does not know about the arguments, ``None`` if all is known."""
        scan = _Scan(self)
        found = scan.options(arguments) or scan.check_needs()
        return found or scan.check_operands() or scan.check_least()

    def strange_option(self, arguments: Sequence[str]) -> str | None:
        """Return what the profile does not know about the options, ignoring the operands."""
        return _Scan(self).options(arguments)

    def leading(self, arguments: Sequence[str]) -> tuple[int, str | None]:
        """Return how many words the options before the first operand take, and any problem."""
        return _Scan(self).lead(arguments)

    def joined(self, other: "Profile") -> "Profile":
        """Return this profile with the options of another added; its own win."""
        mine = self.flags | self.values.keys() | self.optional.keys()
        return replace(
            self,
            flags=self.flags | (other.flags - mine),
            values={**{k: v for k, v in other.values.items() if k not in mine}, **self.values},
            optional={
                **{k: v for k, v in other.optional.items() if k not in mine},
                **self.optional,
            },
        )


class _Scan:
    """One pass over one argument vector."""

    __slots__ = ("budget", "clash", "operands", "profile", "seen")

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.budget = profile.operands
        self.operands: list[str] = []
        self.seen: set[str] = set()
        self.clash: str | None = None

    def options(self, arguments: Sequence[str]) -> str | None:
        rest = list(reversed(arguments))
        if self.profile.bundle and rest and rest[-1][:1] not in {"-", ""}:
            problem = self._cluster(f"-{rest.pop()}", rest, apart=True)
            if problem:
                return problem
        while rest:
            word = rest.pop()
            if word == "--" and not self.profile.single:  # find reads on: `find -- . -delete`
                self.operands.extend(reversed(rest))
                break
            problem = self._word(word, rest)
            if problem:
                return problem
        return None

    def lead(self, arguments: Sequence[str]) -> tuple[int, str | None]:
        rest = list(reversed(arguments))
        while rest and rest[-1][:1] == "-":
            problem = self._word(rest.pop(), rest)
            if problem:
                return len(arguments) - len(rest), problem
        return len(arguments) - len(rest), None

    def _word(self, word: str, rest: list[str]) -> str | None:
        if len(word) < len("-x") or word[0] != "-":
            self.operands.append(word)
            return None
        if self.profile.ordered and self.operands:
            return f"option {word} follows an operand"
        if self.profile.number and word[1:].isascii() and word[1:].isdigit():
            return None
        if word.startswith("--") or self.profile.single:
            return self._long(word, rest)
        return self._cluster(word, rest, apart=self.profile.apart)

    def _long(self, word: str, rest: list[str]) -> str | None:
        name, equals, value = word.partition("=")
        profile = self.profile
        if equals:
            kind = profile.values.get(name) or profile.optional.get(name)
            if kind is None:
                return f"unknown option {name}"
            return self._value(name, kind, value)
        if name in profile.flags or name in profile.optional:
            self._consume(name)
            return None
        if name in profile.values:
            return self._next(name, rest)
        return f"unknown option {name}"

    def _cluster(self, word: str, rest: list[str], *, apart: bool) -> str | None:
        for index in range(1, len(word)):
            name = f"-{word[index]}"
            glued = word[index + 1 :]
            if name in self.profile.values:
                if glued and apart:
                    return f"behind {name} in {word} the program reads further options"
                kind = self.profile.values[name]
                return self._value(name, kind, glued) if glued else self._next(name, rest)
            if name in self.profile.optional:
                if glued:
                    return self._value(name, self.profile.optional[name], glued)
                self._consume(name)
                return None
            if name not in self.profile.flags:
                return f"unknown option {name}"
            self._consume(name)
        return None

    def _next(self, name: str, rest: list[str]) -> str | None:
        kind = self.profile.values[name]
        wanted = _PAIR_LENGTH if kind == "pair" else 1
        if len(rest) < wanted:
            return f"option {name} lacks its value"
        taken = [rest.pop() for _ in range(wanted)]
        if kind in _OPEN_KINDS and any(len(one) > 1 and one[0] == "-" for one in taken):
            return f"the value of {name} could be an option"
        return next(filter(None, (self._value(name, kind, value) for value in taken)), None)

    def _value(self, name: str, kind: str, value: str) -> str | None:
        self._consume(name)
        return None if fits(kind, value) else f"value of {name} is outside the profile"

    def _consume(self, name: str) -> None:
        if self.profile.modes and not self._prevails(name):
            return
        self.seen.add(name)
        if name in self.profile.consuming:
            self.budget = self.profile.operands_then

    def _prevails(self, name: str) -> bool:
        """Return whether an option is in effect; if so, drop the modes that it replaces."""
        for group in self.profile.modes:
            others = (self.seen & group.options) - {name} if name in group.options else ()
            if not others:
                continue
            if group.precedence is Precedence.FIRST:
                return False
            if group.precedence is Precedence.ALONE:
                self.clash = f"{name} beside {min(others)}: the mode is not known for certain"
            self.seen -= group.options
        return True

    def check_needs(self) -> str | None:
        if self.clash is not None:
            return self.clash
        lacking = next((one for one in self.profile.needs if not one & self.seen), None)
        return None if lacking is None else f"it may do more than read without {min(lacking)}"

    def check_operands(self) -> str | None:
        if not self.operands and self.profile.first is None:
            return None
        counted = self.profile.counts_dash
        named = [one for one in self.operands if counted or one != "-"]
        if len(named) > self.budget:
            return f"unexpected operand {named[self.budget]!r}"
        if len(self.operands) > self.budget + 1:
            return "too many operands"
        brought = not self.profile.consuming.isdisjoint(self.seen)
        first = None if brought else self.profile.first
        if first is not None and (not self.operands or not fits(first, self.operands[0])):
            return f"operand {''.join(self.operands[:1])!r} is outside the profile"
        kind = self.profile.operand_kind
        others = named if first is None else [one for one in self.operands[1:] if one != "-"]
        bad = next((word for word in others if not fits(kind, word)), None)
        return None if bad is None else f"operand {bad!r} is outside the profile"

    def check_least(self) -> str | None:
        profile = self.profile
        if not profile.least:
            return None
        spared = not (profile.consuming | profile.sparing).isdisjoint(self.seen)
        least = profile.least_then if spared else profile.least
        return "an operand that it needs is missing" if len(self.operands) < least else None
