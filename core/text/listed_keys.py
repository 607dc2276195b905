"""Find private keys in what a program printed, where something else is around each line.

That is how `cat -n`, `cat -A`, `grep -n`, `git show`, `diff`, logs and lists of strings print them.
Commands are not searched for such lines, only for whole ones (``core.text.secrets``): a mask there
could hide what runs.
"""

import re
from collections.abc import Iterator
from typing import Final

from core.text.secrets import Piece

_BLANK: Final = r"(?: {1,99}|\\ |\+|%20)"
_FRAME: Final = re.compile(
    rf"-----(?:(BEGIN)|END){_BLANK}[A-Z0-9 +%\\]{{0,99}}PRIVATE{_BLANK}KEY(?:{_BLANK}BLOCK)?-----"
)
_HEADER: Final = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment): ")
_DASHES: Final = "-----"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_VARIES: Final = re.compile(r"[\d\s]+|[-:]")
"""What differs from line to line: numbers, their alignment, the sign of `grep` for a match."""

_LONGEST: Final = 200
_KEY_LINE: Final = 40
_LONGEST_KEY: Final = 32_768
"""Characters between the frames of one key, with what is around its lines."""

_SIGN: Final = r"(?:[A-Za-z0-9+/]|%2[BFbf])"
_ESCAPE: Final = (
    r"\x1b\[[0-?]*[ -/]*[@-~]|\\{1,4}(?:[nrt]|u000[adAD]|x0[adAD]|01[25])|%0[AaDd]|&\#x?\w{1,4};"
)
_INSIDE: Final = re.compile(
    rf"(?:{_ESCAPE})"
    rf"|(?P<key>(?={_SIGN}{{0,39}}[\d+%]|{_SIGN}{{40}}){_SIGN}{{16,}}(?:=|%3D){{0,2}}"
    rf"|{_SIGN}{{2,15}}(?:=|%3D){{1,2}})"
)
"""Escapes, whose letters belong to no key; lines of a key, which are no words; its last one."""


def listed_pieces(text: str) -> Iterator[Piece]:
    """Cut a text into open stretches and the lines of such keys; joined again they are ``text``."""
    end = 0
    for start, stop in sorted(_found(text)):
        if start >= end:
            yield Piece(text[end:start])
            yield Piece(text[start:stop], "private key")
            end = stop
    yield Piece(text[end:])


def _found(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a key is: between its two frames, or in lines like that of its only one."""
    known = [None, *_FRAME.finditer(text), None]
    for before, frame, after in zip(known, known[1:], known[2:], strict=False):
        if frame is None:
            continue
        opened = before is not None and bool(before[1])
        if (
            after is not None
            and (bool(frame[1]) is not bool(after[1]))
            and not (opened and after[1])
        ):
            yield from _between(text, frame.end(), after.start())
        if frame[1]:
            yield from _like(text, frame)
        elif not opened:
            yield from _like(text, frame, upwards=True)


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if end - start <= _LONGEST_KEY:
        for found in _INSIDE.finditer(text, start, end):
            if found["key"]:
                yield found.span()


def _like(text: str, frame: re.Match[str], *, upwards: bool = False) -> Iterator[tuple[int, int]]:
    """Yield where the key is in each line that is like the one with its frame.

    What is whole in a text is found without this (``core.text.secrets``); above its end it is not.
    """
    line = text.rfind("\n", max(0, frame.start() - _LONGEST - 1), frame.start()) + 1
    before = text[line : frame.start()]
    stop = text.find("\n", frame.end(), frame.end() + _LONGEST + 1)
    after = text[frame.end() : stop if stop >= 0 else frame.end() + _LONGEST].rstrip()
    if max(len(before), len(after)) >= _LONGEST or _DASHES in before + after:
        return
    if upwards:
        yield from _lines_like(before, after, text, _lines_above(text, line))
    elif before.strip() or after:
        yield from _lines_like(before, after, text, _lines_below(text, frame.end()))


def _lines_below(text: str, at: int) -> Iterator[tuple[int, int]]:
    while (line := text.find("\n", at) + 1) > 0:
        following = text.find("\n", line)
        at = len(text) if following < 0 else following
        yield line, at


def _lines_above(text: str, at: int) -> Iterator[tuple[int, int]]:
    while at > 0:
        line = text.rfind("\n", 0, at - 1) + 1
        yield line, at - 1
        at = line


def _lines_like(
    before: str, after: str, text: str, lines: Iterator[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    shape, empty = _shape(before), _shape(f"{before.rstrip()}{after}")
    glued = len(before) - len(before.rstrip(_LETTERS))
    for place, (line, end) in enumerate(lines):
        shown = text[line:end].rstrip()
        kept = shown.removesuffix(after).rstrip()
        start = min(len(kept.rstrip(_LETTERS)) + glued, len(kept))
        alike = shown.endswith(after) and start < len(kept) and _shape(kept[:start]) == shape
        # A word may stand alone in a line, too: only the last line of a key is short.
        if alike and (before.strip() or after or len(kept) - start >= _KEY_LINE or not place):
            yield line + start, line + len(kept)
        elif _DASHES in shown or not (_HEADER.search(shown) or _shape(shown) == empty):
            return


def _shape(text: str) -> str:
    return _VARIES.sub(lambda found: ":" if found[0] in "-:" else " ", text[: 2 * _LONGEST])
