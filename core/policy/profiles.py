"""Judge arguments by a positive profile: what a profile does not list, it does not know.

A profile names the harmless options of one program in their listed spellings. Abbreviated long
options (CVE-2026-28363), glued short values (CVE-2026-32017) and clusters are parsed, never
guessed; ``--`` ends options; the number of operands depends on the options seen (``grep -e``).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.policy.tables import Table, section, words

_UNLIMITED = 1 << 30
_PAIR_LENGTH = 2

_KINDS = {
    "count": re.compile(r"[+-]?[0-9]{1,18}(?:[kKMGTPEZY]i?B?|b|kB)?"),
    "integer": re.compile(r"[0-9]{1,18}"),
    "char": re.compile(r"[^\0]|\\[0tn]", re.ASCII),
    "keys": re.compile(r"[0-9]+(?:\.[0-9]+)?[bdfgiMhnRrV]*(?:,[0-9]+(?:\.[0-9]+)?[bdfgiMhnRrV]*)?"),
    "ranges": re.compile(r"[0-9,-]{1,200}"),
    "size": re.compile(r"[0-9]{1,18}[bkKMGTP%]?"),
    "word": re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "format": re.compile(r"\+[^\0]*", re.DOTALL),
    "dash": re.compile(r"-"),
    "pair": re.compile(r"[^\0]*", re.DOTALL),  # jq --arg NAME VALUE: two words, both data
    "any": re.compile(r"[^\0]*", re.DOTALL),
}
_JQ_WORDS = re.compile(
    r"\b(?:env|ENV|input_filename|include|import|modulemeta|get_search_list|__prog_args)\b"
)


def path_like(word: str) -> bool:
    """Tell whether a word looks like a path (S1: safe bins reject path-like tokens)."""
    if len(word) > 1 and word.startswith(("/", "./", "../", "~/")):
        return True
    return word in {"..", "~"} or "/../" in word or word.endswith("/..")


def _text(word: str) -> bool:
    # "${" has no meaning without a shell; refused all the same, as the reference product does.
    return not path_like(word) and "${" not in word and "\0" not in word


def _filter(word: str) -> bool:
    return _text(word) and not _JQ_WORDS.search(word)


def _fits(kind: str, word: str) -> bool:
    if kind == "text":
        return _text(word)
    if kind == "filter":
        return _filter(word)
    return _KINDS[kind].fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class Profile:
    """The harmless shape of one program's arguments.

    ``flags`` take no value, ``values`` need one of the named kind, ``optional`` long options may
    have one after ``=``. ``consuming`` options bring the pattern themselves, after which
    ``operands_then`` operands are left. ``number`` allows the old ``-5`` spelling.
    """

    flags: frozenset[str]
    values: Mapping[str, str]
    optional: Mapping[str, str]
    operands: int
    operand_kind: str
    consuming: frozenset[str] = frozenset()
    operands_then: int = 0
    number: bool = False

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Return what the profile does not know about the arguments, ``None`` if all is known."""
        return _Scan(self).run(arguments)


class _Scan:
    """One pass over one argument vector."""

    __slots__ = ("budget", "operands", "profile")

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.budget = profile.operands
        self.operands: list[str] = []

    def run(self, arguments: Sequence[str]) -> str | None:
        rest = list(reversed(arguments))
        while rest:
            word = rest.pop()
            if word == "--":
                self.operands.extend(reversed(rest))
                break
            problem = self._word(word, rest)
            if problem:
                return problem
        return self._check_operands()

    def _word(self, word: str, rest: list[str]) -> str | None:
        if word.startswith("--"):
            return self._long(word, rest)
        if len(word) > 1 and word[0] == "-":
            if self.profile.number and word[1:].isascii() and word[1:].isdigit():
                return None
            return self._cluster(word, rest)
        self.operands.append(word)
        return None

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

    def _cluster(self, word: str, rest: list[str]) -> str | None:
        for index in range(1, len(word)):
            name = f"-{word[index]}"
            glued = word[index + 1 :]
            if name in self.profile.values:
                if not glued:
                    return self._next(name, rest)
                return self._value(name, self.profile.values[name], glued)
            if name in self.profile.optional:
                return self._value(name, self.profile.optional[name], glued) if glued else None
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
        return next(filter(None, (self._value(name, kind, value) for value in taken)), None)

    def _value(self, name: str, kind: str, value: str) -> str | None:
        self._consume(name)
        return None if _fits(kind, value) else f"value of {name} is outside the profile"

    def _consume(self, name: str) -> None:
        if name in self.profile.consuming:
            self.budget = self.profile.operands_then

    def _check_operands(self) -> str | None:
        named = [one for one in self.operands if one != "-"]
        if len(named) > self.budget:
            return f"operand {named[self.budget]!r} is one too many"
        if len(self.operands) > self.budget + 1:
            return "too many operands"
        kind = self.profile.operand_kind
        bad = next((word for word in named if not _fits(kind, word)), None)
        return None if bad is None else f"operand {bad!r} is outside the profile"


def _options(holder: Table, key: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in section(holder, key):
        found |= dict.fromkeys(words(section(holder, key), kind), kind)
    return found


def _integer(holder: Table, key: str, default: int) -> int:
    found = holder.get(key, default)
    if not isinstance(found, int):
        msg = f"policy data: {key} must be a number"
        raise TypeError(msg)
    return _UNLIMITED if found < 0 else found


def profile_of(holder: Table) -> Profile:
    """Build a profile from its table; ``operands = -1`` sets no limit.

    Raises:
        TypeError: a key holds something of another type.
        KeyError: a value kind is unknown.
    """
    values, optional = _options(holder, "values"), _options(holder, "optional")
    kind = " ".join(words(holder, "operand")) or "any"
    for used in {kind, *values.values(), *optional.values()} - {"text", "filter"}:
        _KINDS[used]  # unknown kinds must stop the load, not the first command that uses them
    return Profile(
        flags=frozenset(words(holder, "flags")),
        values=values,
        optional=optional,
        operands=_integer(holder, "operands", 0),
        operand_kind=kind,
        consuming=frozenset(words(holder, "consuming")),
        operands_then=_integer(holder, "operands_then", 0),
        number=holder.get("number") is True,
    )
