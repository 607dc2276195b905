"""Find the file that a move or a copy would replace: its words do not say that one exists.

A rule for ``mv <PATH:project>…`` is meant for a new name. Where something has that name already,
what it holds would be lost, so a person is asked; ``-n`` and ``-f`` say which of the two is meant.
"""

# ruff: noqa: PTH118, PTH119
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.files.lookup import is_folder, is_there
from core.model.command import PlannedCommand
from core.programs.wrappers import names_of

_PROGRAMS: Final = frozenset(("cp", "mv"))
_DECIDED: Final = frozenset(("--no-clobber", "--force", "--update=none", "--update=none-fail"))
"""Options that say whether a file may be replaced."""

_INTO: Final = "--target-directory"
_WHOLE: Final = "--no-target-directory"
_SUFFIX: Final = "--suffix"
_DECIDING_LETTERS: Final = "nf"
_LETTERS_WITH_A_WORD: Final = "tS"
_FLAGS: Final = re.compile(rf"-[^{_LETTERS_WITH_A_WORD}]*")


@dataclass(frozen=True, slots=True)
class _Words:
    """What the words of a move or copy say.

    ``into`` is the folder that ``-t`` names, ``whole``: the last word is not a folder (``-T``).
    ``decided``: they say whether a file may be replaced.
    """

    operands: tuple[str, ...]
    into: str | None
    whole: bool
    decided: bool


def replaced(command: PlannedCommand, cwd: str) -> str:
    """Return the existing file that a command would replace; ``""`` if nothing is.

    Raises:
        OSError: the lookup failed (``core.files.lookup``).
    """
    file = command.executable
    if file is None or _PROGRAMS.isdisjoint(names_of(file.path)):
        return ""
    words = _read(command.argv[1:])
    if words.decided:
        return ""
    at = next((one for one in _targets(words, cwd) if is_there(one)), "")
    return at.encode(errors="replace").decode()


def _targets(words: _Words, cwd: str) -> Iterator[str]:
    """Yield where each file would end up."""
    *sources, last = (*words.operands, words.into) if words.into else words.operands or ("",)
    target = os.path.join(cwd, last)
    if not sources:
        return
    if words.whole or not is_folder(target):
        yield target
        return
    for one in sources:
        yield os.path.join(target, os.path.basename(one.rstrip("/")))


def _read(arguments: tuple[str, ...]) -> _Words:
    operands: list[str] = []
    into: str | None = None
    letters = ""
    options: set[str] = set()
    waiting = iter(arguments)
    for word in waiting:
        if word == "--":
            operands += waiting
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        else:
            option, value = _long(word) if word.startswith("--") else _short(word)
            letters += "" if word.startswith("--") else _FLAGS.findall(word)[0]
            if option in {_INTO, _SUFFIX}:
                value = value or next(waiting, "")
            into = value if option == _INTO else into
            options |= {option, word}
    whole = _WHOLE in options or "T" in letters
    decided = not _DECIDED.isdisjoint(options) or any(one in letters for one in _DECIDING_LETTERS)
    return _Words(tuple(operands), into, whole, decided)


def _long(word: str) -> tuple[str, str]:
    """Return an option, which may be abbreviated, and the value after its ``=``."""
    name, _, value = word.partition("=")
    found = (one for one in (_INTO, _WHOLE, _SUFFIX) if one.startswith(name))
    return next(found, name), value


def _short(word: str) -> tuple[str, str]:
    """Return the option among joined letters that takes a value, and what follows it."""
    for at, letter in enumerate(word):
        if letter in _LETTERS_WITH_A_WORD:
            return (_INTO if letter == "t" else _SUFFIX), word[at + 1 :]
    return "", ""
