"""Find private keys in what a program printed, where each line begins with something else.

That is how `cat -n`, `grep -n`, `git show`, `diff` and logs print them. Commands are not searched
for such lines, only for whole ones (``core.text.secrets``): a mask there could hide what runs.
"""

import re
from collections.abc import Iterator
from typing import Final

from core.text.secrets import Piece

_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_HEADER: Final = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment): ")
_FRAME: Final = "-----"
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_VARIES: Final = re.compile(r"[\d\s]+|[-:]")
"""What differs from line to line: numbers, their alignment, the sign of `grep` for a match."""
_LONGEST: Final = 200


def listed_pieces(text: str) -> Iterator[Piece]:
    """Cut a text into open stretches and the lines of such keys; joined again they are ``text``."""
    end = at = 0
    while (found := _BEGIN.search(text, at)) is not None:
        at = found.end()
        for start, stop in _key_lines(text, found.start(), at):
            yield Piece(text[end:start])
            yield Piece(text[start:stop], "private key")
            end = at = stop
    yield Piece(text[end:])


def _key_lines(text: str, begin: int, at: int) -> tuple[tuple[int, int], ...]:
    """Return where the key is in each line that begins like the one with ``-----BEGIN``."""
    before = text[text.rfind("\n", 0, begin) + 1 : begin]
    if not before.strip() or len(before) > _LONGEST or _FRAME in before:
        return ()
    return tuple(_lines_like(before, text, at))


def _lines_like(before: str, text: str, at: int) -> Iterator[tuple[int, int]]:
    shape, empty = _shape(before), _shape(before.rstrip())
    glued = len(before) - len(before.rstrip(_LETTERS))
    while (line := text.find("\n", at) + 1) > 0:
        following = text.find("\n", line)
        at = len(text) if following < 0 else following
        shown = text[line:at].rstrip()
        start = min(len(shown.rstrip(_LETTERS)) + glued, len(shown))
        if start < len(shown) and _shape(shown[:start]) == shape:
            yield line + start, line + len(shown)
        elif _FRAME in shown or not (_HEADER.search(shown) or _shape(shown) == empty):
            return


def _shape(text: str) -> str:
    return _VARIES.sub(lambda found: ":" if found[0] in "-:" else " ", text[: 2 * _LONGEST])
