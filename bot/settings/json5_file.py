"""Read a JSON5 file together with the line of each key.

The json5 library checks the syntax and returns the values, but no positions. A second, small scan
of text that the library accepted finds the location of each key, and duplicate keys.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

import json5

from bot.settings.problems import KeyPath, Problem

MAX_CHARACTERS = 1_000_000
"""A larger configuration is a mistake; the library parses about 0.1 MB per second."""

_TOKEN = re.compile(
    r"""(?P<skip>[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<mark>[{}\[\]:,])
      | (?P<bare>[^\s\ufeff{}\[\]:,"'/]+)""",
    re.DOTALL | re.VERBOSE,
)
_NOTHING = re.compile(
    # Each part can end in only one way, so that a long text that does not match fails at once.
    r"(?:[\s\ufeff]++|//[^\n\r\u2028\u2029]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/)*"
)
_HINT = "is a comma or bracket missing?"
_CURLY = "\u201c\u201d\u2018\u2019"
_HINTS = {"\n": "is a closing quote missing?"} | dict.fromkeys(_CURLY, "use straight quotes")
"""What is probably wrong, by the character that was not expected."""
_SYNTAX = re.compile(r"<string>:(\d+) (Unexpected .*) at column (\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """A file's value, the line of each key and list item, and what is wrong with it."""

    value: object
    lines: Mapping[KeyPath, int]
    problems: tuple[Problem, ...] = ()


def read_json5(text: str, name: str) -> Document:
    """Return the value and positions of a text; problems' places begin with ``name``."""
    if _NOTHING.fullmatch(text):
        return Document({}, {})
    value, problem = _parse(text, name)
    if problem is not None:
        return Document({}, {}, (problem,))
    scan = _Scan(text)
    scan.run()
    problems = (
        Problem(f"{name}:{line}", path, f"duplicate key; first defined in line {first}")
        for path, line, first in scan.repeated
    )
    return Document(value, scan.lines, tuple(problems))


def _parse(text: str, name: str) -> tuple[object, Problem | None]:
    if len(text) > MAX_CHARACTERS:
        return None, Problem(name, (), f"longer than {MAX_CHARACTERS:,} characters")
    try:
        value, error, _ = json5.parse(text)
    except RecursionError:
        return None, Problem(name, (), "nested too deeply; flatten it")
    return value, None if error is None else _syntax_problem(error, name)


def _syntax_problem(error: str, name: str) -> Problem:
    match = _SYNTAX.fullmatch(error)
    if match is None:  # the one error past the syntax: int() refuses more than 4,300 digits
        return Problem(name, (), "a number has too many digits")
    line, what, column = match.groups()
    shown = what.replace("\n", "\\n")
    hint = next((words for sign, words in _HINTS.items() if sign in what), _HINT)
    return Problem(f"{name}:{line}:{column}", (), f"{shown}; {hint}")


@dataclass(slots=True)
class _Frame:
    """An open object or list: its path, its keys so far, and where the next value belongs."""

    path: KeyPath
    is_list: bool
    index: int = 0
    key: str | None = None
    keys: dict[str, int] = field(default_factory=dict)


class _Scan:
    """Walks the tokens of valid JSON5 and records the lines of keys and list items."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.breaks = [m.start() for m in re.finditer("\n", text)]
        self.lines: dict[KeyPath, int] = {}
        self.repeated: list[tuple[KeyPath, int, int]] = []
        self.stack: list[_Frame] = []

    def run(self) -> None:
        """Scan the whole text."""
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup == "mark":
                self._mark(match.group(), match.start())
            elif match.lastgroup != "skip":
                self._word(match.group(), match.start())

    def _mark(self, mark: str, at: int) -> None:
        if mark in "{[":
            path = self._value_path(at)
            self.stack.append(_Frame(path, is_list=mark == "["))
        elif mark in "}]":
            self.stack.pop()
        elif mark == ",":
            self.stack[-1].index += 1
            self.stack[-1].key = None

    def _word(self, word: str, at: int) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is None or frame.is_list or frame.key is not None:
            self._value_path(at)
            return
        frame.key = _decode_key(word)
        line, path = self._line(at), (*frame.path, frame.key)
        if frame.key in frame.keys:
            self.repeated.append((path, line, frame.keys[frame.key]))
        frame.keys.setdefault(frame.key, line)
        self.lines[path] = line

    def _value_path(self, at: int) -> KeyPath:
        """Return the path of the value that starts here, recording a list item's line."""
        if not self.stack:
            return ()
        frame = self.stack[-1]
        path = (*frame.path, frame.index if frame.is_list else frame.key or "")
        self.lines.setdefault(path, self._line(at))
        return path

    def _line(self, at: int) -> int:
        return bisect_right(self.breaks, at) + 1


def _decode_key(word: str) -> str:
    if word.isascii() and word.isidentifier():
        return word
    (key,) = json5.loads("{" + word + ":0}")
    return str(key)
