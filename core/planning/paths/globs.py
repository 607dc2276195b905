"""Match plain globs as bash and dash both do in the C locale (POSIX XCU 2.14)."""
# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`./a` becomes `a`).

import os
import re
from collections.abc import Iterator
from itertools import islice
from string import ascii_lowercase, ascii_uppercase, digits

from core.files.lookup import check_looked, is_folder, is_there
from core.model.command import PartKind, WordPart

MOST_MATCHES = 1000
MOST_BYTES = 64 * 1024
"""Bytes of all matches of a line together."""

MOST_ENTRIES = 20_000
"""Names checked for one part of a pattern; a larger folder would hold up the gateway."""

_QUOTED_MARKS = re.compile(r"[\\*?\[\]]")
_MEMBER = re.compile("(?P<first>.)(?:-(?P<last>.))?")
_ORDERED = (digits, ascii_lowercase, ascii_uppercase)

_STAR = ""
_ANY = frozenset[str]()

_Token = str | frozenset[str]
"""A literal character, ``*`` (empty text), ``?`` (the empty set), or the characters of a set."""


class UncertainGlob(Exception):
    """A pattern that shells expand differently, or into nothing; says why."""


def matches(parts: list[WordPart], folder: str) -> list[str]:
    """Return the paths that a pattern names, sorted by their bytes.

    Args:
        parts: literal text and globs only, one glob at least.
        folder: where a relative pattern begins.

    Nothing, where nothing matches: both shells then leave the word as it is.

    Raises:
        UncertainGlob: too much matches, or shells would not agree on it.
    """
    segments = _segments(parts)
    found = [""]
    globbed = False
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if all(isinstance(token, str) and token for token in segment):
            name = "".join(map(str, segment))
            found = [f"{path}{name}{'' if last else '/'}" for path in found]
        else:
            globbed = True
            found = [one for path in found for one in _within(path, segment, folder, last=last)]
        if len(found) > MOST_MATCHES:
            raise UncertainGlob(f"a glob that matches more than {MOST_MATCHES} files")
    if globbed:
        found = [path for path in found if is_there(os.path.join(folder, path))]
    return sorted(_checked(found), key=os.fsencode)


def _checked(found: list[str]) -> list[str]:
    try:
        size = sum(len(path.encode()) for path in found)
    except UnicodeEncodeError as error:
        raise UncertainGlob("a glob that matches a name that is not UTF-8") from error
    if size > MOST_BYTES:
        raise UncertainGlob(f"a glob whose matches take more than {MOST_BYTES} bytes")
    return found


def _segments(parts: list[WordPart]) -> list[list[_Token]]:
    """Cut a pattern at its slashes; the last segment is empty where it ends in one."""
    segments: list[list[_Token]] = [[]]
    for part in parts:
        if part.kind is PartKind.GLOB:
            glob = part.text
            segments[-1].append(
                _STAR if glob == "*" else _ANY if glob == "?" else _members(glob[1:-1])
            )
            continue
        if _QUOTED_MARKS.search(part.text):
            raise UncertainGlob("a glob next to quoted pattern characters")
        for place, text in enumerate(part.text.split("/")):
            if place:
                segments.append([])
            segments[-1].extend(text)
    globbed = False
    for segment in segments[:-1]:
        if globbed and not segment:
            raise UncertainGlob("a glob before two slashes")
        globbed = globbed or not all(isinstance(token, str) and token for token in segment)
    return segments


def _members(text: str) -> frozenset[str]:
    """Return the characters of a set; a range is read only within digits or one case."""
    members: set[str] = set()
    for found in _MEMBER.finditer(text):
        first, last = found["first"], found["last"] or found["first"]
        same = any(first in kind and last in kind for kind in _ORDERED)
        if first > last or not (same or first == last):
            raise UncertainGlob("a range that languages order differently")
        members.update(map(chr, range(ord(first), ord(last) + 1)))
    return frozenset(members)


def _within(path: str, segment: list[_Token], folder: str, *, last: bool) -> Iterator[str]:
    """Yield the entries of one folder that a segment names, as paths."""
    if segment[0] == "." and (_fits(".", segment) or _fits("..", segment)):
        raise UncertainGlob("a glob that may match . and ..")
    at = os.path.join(folder, path)
    names = _names_in(at)
    by_character = any(isinstance(token, frozenset) for token in segment)
    if by_character and not all(map(str.isascii, names)):
        raise UncertainGlob("a glob for single characters next to names outside ASCII")
    for name in names:
        hidden = name.startswith(".") and segment[0] != "."
        if hidden or not _fits(name, segment):
            continue
        if last:
            yield path + name
        elif is_folder(os.path.join(at, name)):
            yield f"{path}{name}/"


def _names_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MOST_ENTRIES + 1)]
    except OSError as error:
        check_looked(error)
        return []
    if len(names) > MOST_ENTRIES:
        raise UncertainGlob(f"a glob over a folder of more than {MOST_ENTRIES} files")
    return names


def _fits(name: str, segment: list[_Token]) -> bool:
    """Match one name; a mismatch only goes back to the last ``*``, so time is bounded."""
    at = token = 0
    star, resumed = -1, 0
    while at < len(name):
        if token < len(segment) and segment[token] == _STAR:
            star, resumed = token, at
            token += 1
        elif token < len(segment) and _is_in(name[at], segment[token]):
            at += 1
            token += 1
        elif star >= 0:
            resumed += 1
            at, token = resumed, star + 1
        else:
            return False
    return all(one == _STAR for one in segment[token:])


def _is_in(character: str, token: _Token) -> bool:
    return not token or character in token if isinstance(token, frozenset) else character == token
