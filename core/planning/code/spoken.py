"""Find the texts that start an interpreter or another program, wherever in a word they begin."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from core.planning.code.interpreters import interpreter_of
from core.planning.code.words import ENDS_OF_WORDS, in_cluster, pieces_of
from core.programs.inline_code import inline_of

_PARTED: Final = re.compile(r"[\s,;|&<>()`'\"{}$:]")
_SOURCING: Final = frozenset((".", "source"))

_SED: Final = frozenset(("sed",))
_OF_SED: Final = re.compile(r"e|s(?=(.))", re.DOTALL)
_SED_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|o([0-7]{1,3})|d(\d{1,3})|[tnfvr])")
_MOST_IN_SED: Final = 64
_MOST_WORDS: Final = 256


def with_interpreter(word: str) -> Iterator[str]:
    """Yield what may name a file in a word that names an interpreter: `exec=sh x`, `-Ish x`."""
    if _PARTED.search(word):
        pieces = tuple(dict.fromkeys(filter(None, pieces_of(word))))
        glued = (part for piece in pieces[:2] for part in in_cluster(piece))
        if any(one in _SOURCING or interpreter_of(one) for one in (*pieces, *glued)):
            yield from pieces


def runs_of_sed(words: Sequence[str]) -> Iterator[str]:
    """Yield what sed may run by a script that starts programs: also what it is given to read."""
    inline = inline_of(_SED)
    if inline is not None and inline.problem(words) is not None:
        for word in islice(words, _MOST_WORDS):
            yield from _in_script(word)
            yield word


def _in_script(script: str) -> Iterator[str]:
    """Yield what of a script may be named in a text for a shell: by `e x`, or in `s_a_x_e`."""
    text = _SED_ESCAPE.sub(_meant_by_sed, script)
    for found in islice(_OF_SED.finditer(text), _MOST_IN_SED):
        behind = text[found.end() :]
        parts = (behind,) if found[1] is None else behind[1:].split(found[1], 2)[:2]
        yield from (one for part in parts for one in ENDS_OF_WORDS.split(part) if one)


def _meant_by_sed(escape: re.Match[str]) -> str:
    for digits, base in zip(escape.groups(), (16, 8, 10), strict=True):
        if digits is not None:
            return chr(int(digits, base) or ord(" "))
    return " "
