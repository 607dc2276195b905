"""Find the texts that start an interpreter, wherever in a word they begin."""

import re
from collections.abc import Iterator
from typing import Final

from core.planning.code.interpreters import interpreter_of
from core.planning.code.words import in_cluster, pieces_of

_PARTED: Final = re.compile(r"[\s,;|&<>()`'\"{}$:]")
_SOURCING: Final = frozenset((".", "source"))


def with_interpreter(word: str) -> Iterator[str]:
    """Yield what may name a file in a word that names an interpreter: `exec=sh x`, `-Ish x`."""
    if _PARTED.search(word):
        pieces = tuple(dict.fromkeys(filter(None, pieces_of(word))))
        glued = (part for piece in pieces[:2] for part in in_cluster(piece))
        if any(one in _SOURCING or interpreter_of(one) for one in (*pieces, *glued)):
            yield from pieces
