"""Cut words into what may name paths, for the code that judges or resolves paths."""

import re
from collections.abc import Iterator
from posixpath import dirname, join, normpath

from core.policy.matching.template_element import Surroundings

_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])(?![A-Za-z0-9+.-]*(?i:file|unix):)(?!\S*\.\.)[A-Za-z][A-Za-z0-9+.-]*"
    r"://[^/\s](?:(?!:/)[^\s,;])*"
)
"""A URL of another machine: no file, though it holds slashes; `a://b:/x` may be a list of paths."""
_LONGEST_ADDRESS = 2048
"""Characters of a word searched for addresses: the time grows with their square."""
_JOINT = re.compile(r"[^\w.~/+-]|\A\+|\A-{1,2}[\w-]*(?=[/~.])")
"""After these a word may continue with a path: ``of=/x``, ``host:/x``, ``@/x``, ``-I/x``."""
_SEPARATOR = re.compile(r"[^\w.~/+-]")
_LETTERS = re.compile(r"-\w*")
LONGEST_PATH = 4096
_LONGEST_NAME = 255
"""Bytes of a path and of a name that the kernel takes (PATH_MAX, NAME_MAX)."""
_CLIMBS = re.compile(r"(?:\A|/)\.\.(?:/|\Z)")

_INTO = re.compile(r"-[A-Za-su-z]*t|--t[a-z-]*=?")
"""ln(1): with ``-t`` the folder comes first, else the link or its folder is the last word."""
_MOST_LINKED = 64
"""Words of one ``ln`` whose targets are returned; a person links fewer."""


def without_addresses(word: str) -> str:
    """Return a word without the addresses of other machines in it; one without end as it is."""
    return _ADDRESS.sub("", word) if "://" in word and len(word) <= _LONGEST_ADDRESS else word


def starts(word: str) -> set[int]:
    """Return where in a word a path may begin, besides its own beginning."""
    return {found.end() for found in _JOINT.finditer(word)}


def pieces(word: str) -> Iterator[str]:
    """Yield what may name a file within a word: too much rather than too little.

    A value that is glued to an option may follow any letter, and one of a list may end early.
    """
    letters = _LETTERS.match(word)
    end = letters.end() if letters else 0
    if letters and end == len(word):
        yield from (word[start:] for start in range(max(1, end - _LONGEST_NAME), end))
        return
    word = without_addresses(word)
    if not end and _SEPARATOR.search(word) is None and word[:1] != "+":
        return
    for start in sorted({0, *starts(word), *range(1, end + 1 if end else 0)}):
        rest = word[start : start + LONGEST_PATH]
        yield rest
        joint = _SEPARATOR.search(rest)
        if joint is not None:
            yield rest[: joint.start()]


def normal(path: str) -> str:
    """Return an absolute path without ``.``, ``..`` and double slashes."""
    return f"/{normpath(path).lstrip('/')}"  # POSIX leaves the meaning of two leading ones open


def seen_from_links(argv: tuple[str, ...], at: Surroundings) -> Iterator[tuple[str, str | None]]:
    """Yield each target of ``ln``, and where it leads from where the links may be (ln(1)).

    ``None`` where that cannot be determined. A target that does not climb stays below its link's
    folder.
    """
    words = argv[1:]
    if len(words) > _MOST_LINKED:
        yield argv[0], None
        return
    targets = words if any(map(_INTO.match, words)) else words[:-1]
    for number, target in enumerate(targets):
        if _CLIMBS.search(target):
            for other in (*words[:number], *words[number + 1 :]):
                for place in _places(other, at):
                    yield target, normal(join(place, target))


def _places(word: str, at: Surroundings) -> Iterator[str]:
    """Yield the folders in which a link may end up: the one that is named, or its parent."""
    glued = _INTO.match(word)
    for part in (word,) if glued is None else (word, word[glued.end() :]):
        path = normal(join(at.cwd, part))
        place = at.real.get(path, path)
        yield place
        if not part.endswith("/"):
            yield dirname(place)
