"""Read a text as a person does: without what colours and encodings put around and into its words.

What is found there is masked in the text itself, around what was left out: that stays visible.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_ESC: Final = r"(?:\x1b|\\(?:e|x1[Bb]|u001[Bb]|0?33)|\^\[)"
_CSI: Final = rf"(?:{_ESC}\[|\x9b)[0-?]*[ -/]*[@-~]"
_ENDS: Final = re.compile(
    rf"(?:{_CSI}|(?:\x1b|\^\[)(?:[ -/]+[0-~]|[0-?DEHMNOZc])"
    r"|\\(?:U[0-9A-Fa-f]{8}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{1,4}|[abefnrtv])"
    r"|%(?:25)*[0-9A-Fa-f]{2}|%[-+ #.0-9]*[A-Za-z]|=[0-9A-F]{2}|\^[@-_])(?=\w)"
)
"""What ends in a letter or a digit that belongs to no word: colours, characters in code."""

_WITHIN: Final = re.compile(
    rf"{_CSI}|(?<!\\)\\++(?:(?=[\"'])|(?<=\\)u00(?P<point>2[27]|3[Dd]))|%(?:25)*(?P<byte>2[27Ff]|3[AaDd]|40)"
)
"""What may be between or in the words of a secret, or represent a sign there."""

_SIGNS: Final = {"22": '"', "27": "'", "2F": "/", "3A": ":", "3D": "=", "40": "@"}
_ENDS_A_WORD: Final = re.compile(r"[\s'\"]")
_PATH: Final = re.compile(r"[^\s'\"\x1b\x9b\[]*/")


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is read.

    ``cuts`` are the places of ``text`` before which something is left out or replaced, in order,
    each with its place in the original; ``signs`` are those of what replaces something.
    """

    text: str
    cuts: tuple[tuple[int, int], ...] = ()
    signs: frozenset[int] = frozenset()

    def place(self, at: int) -> int:
        """Return where in the original a place of the reading is."""
        found = bisect_right(self.cuts, (at, 1 << 62)) - 1
        return at if found < 0 else self.cuts[found][1] + at - self.cuts[found][0]

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches of the original that a stretch of the reading consists of."""
        first = bisect_right(self.cuts, (start, 1 << 62))
        last = bisect_right(self.cuts, (stop - 1, 1 << 62))
        bounds = (start, *(at for at, _ in self.cuts[first:last]), stop)
        for one, end in pairwise(bounds):
            if end > one and one not in self.signs:
                yield self.place(one), self.place(one) + end - one


def readings(text: str) -> Iterator[Reading]:
    r"""Yield a text, and how else it may be read.

    In ``\nghp_…`` the token follows a line feed. In ``\npm_…`` it begins with the letter.
    """
    yield Reading(text)
    apart = _ENDS.sub(lambda found: "\\" * len(found[0]), text)
    if apart != text:
        yield Reading(apart)
    joined = _joined(text)
    if joined.cuts:
        yield joined


def _joined(text: str) -> Reading:
    """Return a text without colours, and with the signs that its encodings represent."""
    parts: list[str] = []
    cuts: list[tuple[int, int]] = []
    signs: list[int] = []
    end = length = 0
    apart = False
    for found in _WITHIN.finditer(text):
        kept = text[end : found.start()]
        end = found.end()
        apart = ";" in found[0] or (apart and not _ENDS_A_WORD.search(kept))
        sign = _SIGNS.get((found["point"] or found["byte"] or "").upper(), "")
        # To a shell a path after the `;` of a colour is a command, which belongs to no name.
        sign = "\n" if apart and _PATH.match(text, end) else sign
        parts += (kept, sign)
        length += len(kept)
        cuts += ((length, found.start()), (length + len(sign), end))
        signs += [length] * len(sign)
        length += len(sign)
    return Reading("".join((*parts, text[end:])), tuple(cuts), frozenset(signs))
