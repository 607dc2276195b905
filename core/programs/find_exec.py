"""Find what ``find -exec`` runs: the expression without it, and each command after it.

GNU find 4.9 and POSIX: a command ends at ``;``, or at a ``+`` after a word ``{}``. Its arguments
are what is found, which is not known beforehand, so only a program that shows files whatever its
arguments counts as known. ``-execdir``, ``-ok`` and ``-okdir`` are unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.programs.carriers import carrier_problem
from core.programs.wrapper_grammar import Opaque

_SHOWING = frozenset(
    [
        "grep",
        "egrep",
        "fgrep",
        "cat",
        "tac",
        "head",
        "tail",
        "wc",
        "ls",
        "stat",
        "du",
        "echo",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "md5sum",
        "sha1sum",
        "sha256sum",
        "cksum",
    ]
)
_UNKNOWN = frozenset(("-execdir", "-ok", "-okdir"))


@dataclass(frozen=True, slots=True)
class FindExec:
    """A find split up: ``own`` is the vector without its commands, ``between`` the words around."""

    own: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    between: tuple[tuple[str, ...], ...]


def find_exec(argv: Sequence[str]) -> FindExec | Opaque | None:
    """Split the vector of a find; ``None`` if it runs nothing."""
    if "-exec" not in argv or not _UNKNOWN.isdisjoint(argv):
        return None
    commands, between, rest = [], [], list(argv)
    while "-exec" in rest:
        at = rest.index("-exec") + 1
        end = _end(rest, at)
        if end is None or not _shows(rest[at:end]):
            return Opaque("what -exec runs is not known to only show files")
        commands.append(tuple(rest[at:end]))
        between.append(tuple(rest[:at]))
        rest = rest[end:]
    between.append(tuple(rest))
    own = (*between[0][:-1], *(word for one in between[1:] for word in one[1:] if word != "-exec"))
    problem = carrier_problem("/usr/bin/find", own[1:])
    return Opaque(problem) if problem else FindExec(own, tuple(commands), tuple(between))


def _end(words: Sequence[str], start: int) -> int | None:
    """Return the place of the word that ends a command, ``None`` if none does."""
    for place in range(start, len(words)):
        if words[place] == ";" or (words[place] == "+" and words[place - 1] == "{}"):
            return place
    return None


def _shows(command: Sequence[str]) -> bool:
    """Return whether a command is a known one whose arguments are what is found."""
    name = command[0].rpartition("/")[2] if command else ""
    return name in _SHOWING and any("{}" in word for word in command[1:])
