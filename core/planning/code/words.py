"""What a word of a command may name, before anybody looks whether there is such a file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import normpath
from typing import Final
from urllib.parse import unquote

from core.shell.unread_commands import UNCERTAIN

ENDS_OF_WORDS: Final = re.compile(r"[\s'\"`;|&<>(){}$=,]+")
_VALUE_OF: Final = re.compile(r"--?[A-Za-z][\w-]*=(.+)", re.DOTALL)
_GLUED: Final = re.compile(r"-[A-Za-z](.+)", re.DOTALL)

_INPUT: Final = re.compile(r"(?:^|/)(?:dev/stdin|fd/[\d\0]+)$")
_OWN_ROOT: Final = re.compile(r"(?:.*/)?proc/[^/]+/(?:task/[^/]+/)?(cwd|root)(/.*)", re.DOTALL)
_URL: Final = re.compile(r"file:(?://[^/]*)?(/.*)", re.DOTALL | re.IGNORECASE)
_DOTS: Final = re.compile(r"/(?:\.?/)+")
_LONGEST_CLUSTER: Final = 9
_LONGEST_START: Final = 16

_UNPACKER: Final = re.compile(r"[gbxl]z|zst|zip|lz|^z\w|^uncompress$|^busybox$")
_PACKED: Final = (".gz", ".Z", ".z", "-gz", "-z", "_z", ".tgz", ".bz2", ".xz", ".lzma", ".zst")


@dataclass(frozen=True, slots=True)
class CodeWord:
    """A word that may name a file of code; ``sure`` where it can be nothing else.

    ``whole``: it is neither a folder nor a module without its suffix.
    """

    path: str
    sure: bool = False
    whole: bool = False


def held(option: str) -> Iterator[str]:
    """Yield what an option may hold itself: ``--import=x.js``, ``-r./x``."""
    for shape in (_VALUE_OF, _GLUED):
        found = shape.fullmatch(option)
        if found is not None:
            yield found.group(1)


def in_cluster(word: str) -> Iterator[str]:
    """Yield what may follow letters in one word: ``-xOfa.tar``, ``-Csub``."""
    if word[:1] == "-" and word[:2] != "--":
        yield from (word[at:] for at in range(2, min(len(word), _LONGEST_CLUSTER)))


def tails(word: str) -> Iterator[str]:
    """Yield what of a word may be a path with something before it: ``-cI./x``, ``1e./x``."""
    slash = word.find("/")
    yield from (word[at:] for at in range(max(1, slash - _LONGEST_START), slash + 1))


def is_input(word: str) -> bool:
    """Return whether a word names the input, or whatever else is open: ``/proc/self/fd/3``."""
    return word == "-" or ("/" in word and _INPUT.search(normpath(word)) is not None)


def resolved(word: str) -> str:
    """Return the path that a word means: of a URL, or by way of the process itself."""
    if "file:" in word.lower():
        url = _URL.fullmatch(word)
        word = word if url is None else unquote(url[1])
    if "proc/" in word:
        own = _OWN_ROOT.fullmatch(_DOTS.sub("/", word))
        if own is not None:
            return own[2] if own[1] == "root" else own[2].lstrip("/")
    return word


def pieces_of(word: str) -> Iterator[str]:
    """Yield what of a word may name a file: all of it, its parts, what follows a variable."""
    if UNCERTAIN not in word:
        yield resolved(word)
    for piece in ENDS_OF_WORDS.split(word.replace(UNCERTAIN, " ")):
        if piece and piece != word:
            yield resolved(piece)
            if UNCERTAIN in word and piece[0] == "/":
                yield piece.lstrip("/")


def fed_names(words: Sequence[str], commands: Sequence[str]) -> Iterator[str]:
    """Yield what of words may name a file that commands read; what is unlikely comes last."""
    pieces = [piece for word in words for piece in pieces_of(word)]
    yield from pieces
    yield from (part for word in words for part in in_cluster(word))
    yield from packed(pieces, commands)


def packed(words: Sequence[str], commands: Sequence[str]) -> Iterator[str]:
    """Yield the names that a program which unpacks tries for those that it is given."""
    if any(map(_unpacks, commands)):
        yield from (word + ending for ending in _PACKED for word in words)


def _unpacks(command: str) -> bool:
    name = command.rpartition("/")[2]
    return _UNPACKER.search(name) is not None and name.replace("_", "a").isalnum()
