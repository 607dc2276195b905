"""Read words as the names that a shell makes of them: `${f%.c}`, `${f##*/}`, `$(basename $f)`."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import Final

from core.planning.code.words.parts import ENDS_OF_WORDS
from core.shell.unread_commands import UNCERTAIN

_SHORTENS: Final = re.compile(
    r"\$\{!?\w+(?:\[[^]]*])?[%#:/^,@]|\b(?:basename|dirname)\b|\$\(dirname|`dirname"
)
_CUT: Final = re.compile(r"\$\{\w+(%%?|##?)([^{}$*?\[\]]+)\}")
_REPLACED: Final = re.compile(r"\$\{\w+//?([^{}$*?\[\]/]+)/([^{}$/]*)\}")
_SLICED: Final = re.compile(r"\$\{\w+: ?(-?\d{1,4})(?:: ?(\d{1,4}))?\}")
_MOST_CHANGES: Final = 16
_MOST_DOTS: Final = 4
_LONGEST: Final = 4_096
"""Characters; no path is longer (PATH_MAX)."""

_Change = Callable[[str], str]


def shortened(text: str, words: Iterable[str]) -> Iterator[str]:
    """Yield what a text makes of the names in words, none if it makes nothing of them."""
    if not _SHORTENS.search(text):
        return
    changes = tuple(islice(_changes(text), _MOST_CHANGES))
    pieces = (one for word in words for one in ENDS_OF_WORDS.split(word.replace(UNCERTAIN, " ")))
    for piece in dict.fromkeys(one for one in pieces if one and len(one) <= _LONGEST):
        yield from _parts_of(piece)
        yield from (change(piece) for change in changes)


def _parts_of(piece: str) -> Iterator[str]:
    """Yield the folder and the name, each with and without what follows a dot, in any case."""
    folder, _, name = piece.rstrip("/").rpartition("/")
    yield from (folder, name, piece.lower(), piece.upper())
    parts = name.split(".", _MOST_DOTS)
    for count in range(1, len(parts)):
        stem = ".".join(parts[:count])
        yield from (stem, f"{folder}/{stem}" if folder else "", ".".join(parts[count:]))


def _changes(text: str) -> Iterator[_Change]:
    """Yield the changes of a text that need no pattern to be matched."""
    cuts = (partial(_cut, found[1][0], found[2]) for found in _CUT.finditer(text))
    replaced = (partial(_replaced, found[1], found[2]) for found in _REPLACED.finditer(text))
    sliced = (partial(_sliced, int(found[1]), found[2]) for found in _SLICED.finditer(text))
    return chain(cuts, replaced, sliced)


def _cut(side: str, what: str, piece: str) -> str:
    return piece.removesuffix(what) if side == "%" else piece.removeprefix(what)


def _replaced(old: str, new: str, piece: str) -> str:
    return piece.replace(old, new)


def _sliced(start: int, length: str | None, piece: str) -> str:
    rest = piece[start:]
    return rest if length is None else rest[: int(length)]
