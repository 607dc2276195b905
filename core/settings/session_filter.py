"""Match session keys with patterns that cannot blow up (``approvals.exec.sessionFilter``).

CPython's ``re`` tries one way after the other: ``(a+)+$`` takes exponential time, and even without
nesting ``.*.*.*x`` takes the fourth power of the text (CWE-1333). A session key is chosen by the
agent, so the whole gateway would stand still at its will. These patterns are simulated as a set of
states that moves through the text once (Thompson 1968): a few states for each of at most 200
characters of the pattern, times at most 500 characters of the key, whatever they are. What that
method cannot do is refused when the configuration is read: backreferences, look-around, counted and
lazy repetition.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

LONGEST_PATTERN: Final = 200
LONGEST_TEXT: Final = 500
_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "d": str.isdigit,
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
}


class _Place(Enum):
    """Where in the text an anchor holds."""

    START = auto()
    END = auto()


_Test = Callable[[str], bool] | _Place
_SIGNS: Final[dict[str, _Test]] = {
    "^": _Place.START,
    "$": _Place.END,
    ".": lambda _: True,
}
_UNSUPPORTED: Final = frozenset("*+?{}")
_SPECIAL: Final = frozenset("^$.*+?{}()[]|\\")
"""What makes a word more than a part of a key."""


@dataclass(slots=True)
class _State:
    """One state: what it needs to go on (``None``: nothing), and where it goes."""

    test: _Test | None
    ways: list[int]


class Pattern:
    """A compiled pattern of literals, ``.``, sets, ``* + ?``, ``|``, groups, ``^`` and ``$``.

    A backslash escapes a sign, or makes a class of the letter d, w or s.
    """

    def __init__(self, source: str) -> None:
        """Compile a pattern.

        Raises:
            ValueError: it is too long, malformed, or uses what is not supported.
        """
        if len(source) > LONGEST_PATTERN:
            raise ValueError(f"a pattern has at most {LONGEST_PATTERN} characters")
        parser = _Parser(source)
        self._states = parser.states
        self._first, self._last = parser.whole()

    def found_in(self, text: str) -> bool:
        """Return whether the pattern is found anywhere in the first 500 characters of a text."""
        seen = text[:LONGEST_TEXT]
        live: set[int] = set()
        for at in range(len(seen) + 1):
            live = self._spread({*live, self._first}, at, len(text))
            if self._last in live:
                return True
            if at < len(seen):
                live = self._step(live, seen[at])
        return False

    def _step(self, live: Iterable[int], char: str) -> set[int]:
        after: set[int] = set()
        for number in live:
            state = self._states[number]
            if callable(state.test) and state.test(char):
                after.update(state.ways)
        return after

    def _spread(self, live: set[int], at: int, end: int) -> set[int]:
        """Add every state that is reached without a further character."""
        waiting, known = list(live), set(live)
        while waiting:
            state = self._states[waiting.pop()]
            free = (
                state.test is None
                or (state.test is _Place.START and at == 0)
                or (state.test is _Place.END and at == end)
            )
            for way in state.ways if free else ():
                if way not in known:
                    known.add(way)
                    waiting.append(way)
        return known


class _Parser:
    """Turn a pattern into states, by recursive descent; each part has one way in and one out."""

    def __init__(self, source: str) -> None:
        self._source, self._at = source, 0
        self.states: list[_State] = []

    def whole(self) -> tuple[int, int]:
        part = self._choice()
        if self._at < len(self._source):
            raise ValueError("a pattern has a ')' without its '('")
        return part

    def _peek(self) -> str:
        return self._source[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _new(self, test: _Test | None, *ways: int) -> int:
        self.states.append(_State(test, list(ways)))
        return len(self.states) - 1

    def _choice(self) -> tuple[int, int]:
        start, end = self._sequence()
        while self._peek() == "|":
            self._next()
            other, other_end = self._sequence()
            start, joined = self._new(None, start, other), self._new(None)
            self.states[end].ways.append(joined)
            self.states[other_end].ways.append(joined)
            end = joined
        return start, end

    def _sequence(self) -> tuple[int, int]:
        start = end = self._new(None)
        while self._peek() not in {"", "|", ")"}:
            part, part_end = self._repeated()
            self.states[end].ways.append(part)
            end = part_end
        return start, end

    def _repeated(self) -> tuple[int, int]:
        start, end = self._atom()
        sign = self._peek()
        if sign and sign in "*+?":
            self._next()
            start, end = self._looped(start, end, sign)
            if self._peek() and self._peek() in "*+?":
                raise ValueError("a pattern repeats a repetition; lazy signs are not supported")
        return start, end

    def _looped(self, start: int, end: int, sign: str) -> tuple[int, int]:
        out = self._new(None)
        self.states[end].ways.append(out)
        if sign != "?":
            self.states[end].ways.append(start)
        return (start if sign == "+" else self._new(None, start, out)), out

    def _atom(self) -> tuple[int, int]:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._single(self._set())
        if char == "\\":
            return self._single(self._escape())
        if char in _UNSUPPORTED:
            raise ValueError(f"a pattern cannot have {char!r} here; write \\{char} for itself")
        return self._single(_SIGNS.get(char, char.__eq__))

    def _single(self, test: _Test) -> tuple[int, int]:
        end = self._new(None)
        return self._new(test, end), end

    def _group(self) -> tuple[int, int]:
        if self._peek() == "?":
            raise ValueError("a pattern has only plain groups, without (?")
        part = self._choice()
        if self._next() != ")":
            raise ValueError("a pattern has a '(' without its ')'")
        return part

    def _escape(self) -> Callable[[str], bool]:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        if not char or char.isalnum():
            raise ValueError("a pattern may escape signs and use \\d, \\w and \\s, nothing else")
        return char.__eq__

    def _set(self) -> Callable[[str], bool]:
        inverted = self._peek() == "^"
        if inverted:
            self._next()
        tests: list[Callable[[str], bool]] = []
        while self._peek() != "]" or not tests:
            if not self._peek():
                raise ValueError("a pattern has a '[' without its ']'")
            tests.append(self._member())
        self._next()
        return lambda char: any(test(char) for test in tests) is not inverted

    def _member(self) -> Callable[[str], bool]:
        low = self._next()
        if low == "\\":
            return self._escape()
        if self._peek() != "-" or self._source[self._at + 1 : self._at + 2] in {"", "]"}:
            return low.__eq__
        self._next()
        high = self._next()
        if high == "\\" or high < low:
            raise ValueError(f"a pattern has the impossible range {low}-{high}")
        return lambda char: low <= char <= high


def session_filter(words: Iterable[str]) -> Callable[[str], bool]:
    """Return what says whether a session's key passes: one of the words must match it.

    A word is a part of the key or a pattern that is found in it (S1 "substring or regex"). In
    slashes it is a pattern only.

    Raises:
        ValueError: a pattern cannot be used; the message says why.
    """
    known = tuple(words)
    parts = tuple(word for word in known if not _is_quoted(word))
    patterns = tuple(_pattern(word) for word in known if _is_quoted(word) or _SPECIAL & {*word})

    def passes(key: str) -> bool:
        return any(part in key for part in parts) or any(one.found_in(key) for one in patterns)

    return passes


def _pattern(word: str) -> Pattern:
    try:
        return Pattern(word[1:-1] if _is_quoted(word) else word)
    except ValueError as error:
        raise ValueError(
            f"{error}, in {word!r}; where a sign stands for itself, write a backslash before it"
        ) from None


def _is_quoted(word: str) -> bool:
    return len(word) > 1 and word.startswith("/") and word.endswith("/")
