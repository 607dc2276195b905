"""Yield the parts of a command's words that may name a file, whether or not it exists."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from os.path import normpath
from typing import Final
from urllib.parse import unquote

from core.shell.unread_commands import UNCERTAIN

ENDS_OF_WORDS: Final = re.compile(r"[\s'\"`;|&<>(){}$=,]+")
"""What separates the words of a text."""

_FINER: Final = (
    re.compile(r"[^\w./-]+"),
    re.compile(r"(?:\\(?:x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|[A-Za-z])|%[-+#0-9.*]*[A-Za-z]|[^\w./-])+"),
)
"""What else may separate words for a program: `sh:notes`, and `sh notes\\n` of printf."""

_ODD: Final = re.compile(r"[^\w./-]|/\Z|\As/")
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|0?([0-7]{1,3})|(.))",
    re.DOTALL,
)
_BLANK_ESCAPES: Final = frozenset("abcefnrtv")
_MOST_PARTS: Final = 8
_MOST_CHARACTERS: Final = 0x110000

_ASSIGNS: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_GLOB: Final = re.compile(r"[*?]")
_PATTERN: Final = re.compile(r"\$\{!?\w+(?:\[[^]{}]*])?[#%/^,][^{}]*\}")
_VALUE_OF: Final = re.compile(r"--?[A-Za-z][\w.-]*=(.+)", re.DOTALL)
_GLUED: Final = re.compile(r"-[A-Za-z](.+)", re.DOTALL)

_WIDE: Final = re.compile(r"[./]*|/+[^/]*|/+home/+[^/]*")
"""Folders of so many files that a name of which nothing is known names none of them."""

_INPUT: Final = re.compile(r"(?:^|/)(?:dev/stdin|fd/[\d\0]+)$")
_OWN_ROOT: Final = re.compile(r"(?:.*/)?proc/[^/]+/(?:task/[^/]+/)?(cwd|root)(/.*)", re.DOTALL)
_URL: Final = re.compile(r"file:(?://[^/]*)?(/.*)", re.DOTALL | re.IGNORECASE)
_DOTS: Final = re.compile(r"/(?:\.?/)+")
_READ_BY_SED: Final = re.compile(r"(?<![A-Za-z])[rR](?=([\w./][^\n]*))")
_LONGEST_CLUSTER: Final = 9
_MOST_CLIMBED: Final = 16
_LONGEST_START: Final = 16
_LONGEST_ADDRESS: Final = 8

_UNPACKER: Final = re.compile(r"[gbxl]z|zst|zip|lz|^z\w|^uncompress$|^busybox$")
_PACKED: Final = (".gz", ".Z", ".z", "-gz", "-z", "_z", ".tgz", ".bz2", ".xz", ".lzma", ".zst")


@dataclass(frozen=True, slots=True)
class CodeWord:
    """A word that may name a file of code; ``sure`` if it can be nothing else.

    ``whole``: it names the file itself, never a folder or a module without its suffix.
    """

    path: str
    sure: bool = False
    whole: bool = False


def held(option: str) -> Iterator[str]:
    """Yield the value that an option may contain in the same word: ``--import=x.js``, ``-r./x``."""
    for shape in (_VALUE_OF, _GLUED):
        found = shape.fullmatch(option)
        if found is not None:
            yield found.group(1)


def in_cluster(word: str) -> Iterator[str]:
    """Yield what may follow the letters of options in one word: ``-xOfa.tar``, ``-Csub``."""
    if word[:1] == "-" and word[:2] != "--":
        yield from (word[at:] for at in range(2, min(len(word), _LONGEST_CLUSTER)))


def tails(word: str) -> Iterator[str]:
    """Yield the ends of a word that may be a path after something else: ``-cI./x``, ``1e./x``."""
    slash = word.find("/")
    yield from (word[at:] for at in range(max(1, slash - _LONGEST_START), slash + 1))


def climbed(word: str) -> Iterator[str]:
    """Yield a path without some of its leading `..`: a line may make the folder it starts from."""
    for _ in range(_MOST_CLIMBED):
        above, slash, word = word.partition("/")
        if above != ".." or not slash:
            return
        word = word.lstrip("/")
        yield word


def is_input(word: str) -> bool:
    """Return whether a word names the input, or another open file: ``/proc/self/fd/3``."""
    return word == "-" or ("/" in word and _INPUT.search(normpath(word)) is not None)


def resolved(word: str) -> str:
    """Return the path that a word means, also if it is a ``file:`` URL or ``/proc/PID/cwd/x``."""
    if "file:" in word.lower():
        url = _URL.fullmatch(word)
        word = word if url is None else unquote(url[1])
    if "proc/" in word:
        own = _OWN_ROOT.fullmatch(_DOTS.sub("/", word))
        if own is not None:
            return own[2] if own[1] == "root" else own[2].lstrip("/")
    return word


def pieces_of(word: str) -> Iterator[str]:
    """Yield the possible file names in a word: all of it, its parts, the rest after a variable."""
    yield from _coarse(word)
    yield from _fine(word)


def paths_meant(word: str) -> Iterator[str]:
    """Yield the path that a word of code means, the possible ones if it is not certain."""
    if UNCERTAIN not in word:
        yield resolved(word)
        return
    yield from pieces_of(word)
    yield from globs_of(word)


def globs_of(word: str) -> Iterator[str]:
    """Yield the glob for a path of which a part may be anything: `d/*` for `d/$f`.

    Yield none where it would name too much.
    """
    folder, _, name = word.rpartition("/")
    known = _WIDE.fullmatch(folder) is None or name.strip(f"{UNCERTAIN}._-")
    if UNCERTAIN in name and UNCERTAIN not in folder and known:
        yield word.replace(UNCERTAIN, "*")


def _coarse(word: str) -> Iterator[str]:
    if UNCERTAIN not in word:
        yield resolved(word)
    word = _without_assigned_globs(word)
    for piece in ENDS_OF_WORDS.split(word.replace(UNCERTAIN, " ")):
        if piece and piece != word:
            yield resolved(piece)
            if UNCERTAIN in word and piece[0] == "/":
                yield piece.lstrip("/")


def _fine(word: str) -> Iterator[str]:
    """Yield the parts that programs other than a shell may take for the words of a text."""
    text = _without_assigned_globs(word).replace(UNCERTAIN, " ")
    for piece in ENDS_OF_WORDS.split(text):
        if _ODD.search(piece):
            parts = [part for marks in _FINER for part in marks.split(piece)]
            yield from parts
            yield from (part.lstrip("-") for part in parts if part[:1] == "-")
            yield piece.rstrip("/")
    if "s/" in text[:_LONGEST_ADDRESS]:  # sed's: `1s/a/sh x/e`
        parts = text.split("/", _MOST_PARTS)
        yield from (one for part in parts for one in ENDS_OF_WORDS.split(part))
    if "\\" in text:
        yield from ENDS_OF_WORDS.split(text.replace("\\", ""))
        yield from ENDS_OF_WORDS.split(_ESCAPE.sub(_meant, text))


def _without_assigned_globs(word: str) -> str:
    """Return a word in which a shell matches no files: `DEBUG=*`."""
    return _GLOB.sub(UNCERTAIN, word) if _ASSIGNS.match(word) else without_patterns(word)


def without_patterns(text: str) -> str:
    """Return a text without the stars that match parts of a value, and no files: `${f##*/}`."""
    return _PATTERN.sub(lambda found: _GLOB.sub("_", found[0]), text) if "${" in text else text


def _meant(escape: re.Match[str]) -> str:
    """Return what an escape means in printf, echo or quotes."""
    *numbers, letter = escape.groups()
    if letter is not None:
        return " " if letter in _BLANK_ESCAPES else letter
    for digits, base in zip(numbers, (16, 16, 16, 8), strict=True):
        if digits is not None:
            number = int(digits, base)
            return chr(number) if 0 < number < _MOST_CHARACTERS else " "
    return " "


def fed_names(words: Sequence[str], commands: Sequence[str]) -> Iterator[str]:
    """Yield the parts of words that may name a file which commands read, the unlikely ones last."""
    pieces = [piece for word in words for piece in _coarse(word)]
    yield from pieces
    yield from (part for word in words for part in _fine(word))
    yield from (part for word in words for part in in_cluster(word))
    yield from (
        one[1] for word in words for one in islice(_READ_BY_SED.finditer(word), _MOST_PARTS)
    )
    yield from packed(pieces, commands)


def packed(words: Sequence[str], commands: Sequence[str]) -> Iterator[str]:
    """Yield the names that an unpacking program tries for the words given to it: `x.gz` for `x`."""
    if any(map(_unpacks, commands)):
        yield from (word + ending for ending in _PACKED for word in words)


def _unpacks(command: str) -> bool:
    name = command.rpartition("/")[2]
    return _UNPACKER.search(name) is not None and name.replace("_", "a").isalnum()
