"""Read a JSON5 file together with the line of each key.

The library returns the values, but no positions. A second, small scan of text that the library
accepted finds the location of each key, and duplicate keys.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyjson5

from bot.settings.problems import KeyPath, Problem

MAX_CHARACTERS = 1_000_000
"""A larger configuration is a mistake."""

_DEEPEST: Final = 64
"""Objects and lists within each other; the settings have fewer than ten."""

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
_PLACE: Final = re.compile(r" near (\d+)")
_WORD: Final = re.compile(r"[^\s,:{}\[\]]*")
_MOST_DIGITS: Final = 300
_LINE_END: Final = re.compile(r"[\n\r]")


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


def value_of_json5(text: str) -> object:
    """Return the value of a text.

    Raises:
        ValueError: it is not JSON5, or has the same key twice.
    """
    document = read_json5(text, "")
    if document.problems or _NOTHING.fullmatch(text):
        raise ValueError("not JSON5")
    return document.value


def _parse(text: str, name: str) -> tuple[object, Problem | None]:
    if len(text) > MAX_CHARACTERS:
        return None, Problem(name, (), f"longer than {MAX_CHARACTERS:,} characters")
    try:
        return pyjson5.decode(text, _DEEPEST), None
    except pyjson5.Json5NestingTooDeep:
        return None, Problem(name, (), "nested too deeply; flatten it")
    except pyjson5.Json5DecoderException as error:
        return None, _syntax_problem(error, text, name)


def _syntax_problem(error: pyjson5.Json5DecoderException, text: str, name: str) -> Problem:
    what, found = str(error.args[0]), error.args[-1]
    place = _PLACE.search(what)
    # The library counts from 1, except behind the end of what it read.
    after = isinstance(error, pyjson5.Json5ExtraData)
    start = 0 if place is None else int(place[1]) - (not after)
    if "NumericLiteral" in what:
        return _number_problem(text, start, name)
    if isinstance(found, str):
        at = max(start, text.find(found, start))
    elif what.startswith("Unclosed"):
        # An unclosed thing is known by its start; a string ends with its line at the latest.
        ends = _LINE_END.search(text, start) if "string" in what else None
        at = len(text) if ends is None else ends.start()
    else:
        at = start
    character = text[at : at + 1]
    shown = '"{}"'.format(character.replace("\n", "\\n")) if character else "end of input"
    hint = _HINTS.get(character, _HINT)
    return Problem(_at(text, at, name), (), f"Unexpected {shown}; {hint}")


def _number_problem(text: str, start: int, name: str) -> Problem:
    number = _WORD.match(text, start)
    word = "" if number is None else number.group()
    if len(word) > _MOST_DIGITS:
        return Problem(name, (), "a number has too many digits")
    return Problem(_at(text, start, name), (), f'"{word}" is not a number that can be read')


def _at(text: str, at: int, name: str) -> str:
    """Return file, line and column of an offset."""
    before = text[:at]
    return f"{name}:{before.count(chr(10)) + 1}:{at - before.rfind(chr(10))}"


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
    (key,) = pyjson5.decode("{" + word + ":0}")
    return str(key)
