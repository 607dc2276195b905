"""Find file names in words whose text, or a part of it, starts an interpreter or a program."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

from core.planning.code.words.interpreters import (
    AWK,
    SED,
    Interpreter,
    interpreter_of,
)
from core.planning.code.words.option_files import Reader
from core.planning.code.words.parts import ENDS_OF_WORDS, in_cluster, pieces_of
from core.programs.inline_code import inline_of
from core.shell.unread_commands import UNCERTAIN

_PARTED: Final = re.compile(r"[\s,;|&<>()`'\"{}$:]")
_SOURCING: Final = frozenset((".", "source"))

_OF_SED: Final = re.compile(r"s(?=([\w./-]))")
"""A substitution whose separators do not end a word: `s_a_x_e`."""

_SED_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|o([0-7]{1,3})|d(\d{1,3})|[tnfvr])")
_KNOWN_TO_AWK: Final = re.compile(
    r"""(?:\|&?|\bsystem\()\s*"((?:[\w ./:,=+%@>-]|>&[12])*)"\)?(?=\s*(?:[;})]|$))"""
    r"""|"([\w ./:,=+%@-]*)"\s*\|&?\s*getline\b"""
)
"""A command that an awk program starts, as a string literal."""

_MOST_IN_SED: Final = 64
_MOST_WORDS: Final = 256


def with_interpreter(word: str) -> Iterator[str]:
    """Yield the parts of a word if one of them names an interpreter: `exec=sh x`, `-Ish x`.

    Any of these parts may be the file that the interpreter runs.
    """
    if _PARTED.search(word):
        pieces = tuple(dict.fromkeys(filter(None, pieces_of(word))))
        glued = (part for piece in pieces[:2] for part in in_cluster(piece))
        if any(one in _SOURCING or interpreter_of(one) for one in (*pieces, *glued)):
            yield from pieces


def runs_of(
    reader: Interpreter | Reader, words: Sequence[str], takes: Callable[[str], bool]
) -> Iterator[str]:
    """Yield possible names of files that sed or awk runs or reads, if its script starts programs.

    For awk, yield none if no command that it starts ``takes`` code: `print | "sort"`.
    """
    if reader is SED and _may_run("sed", words):
        for word in islice(words, _MOST_WORDS):
            yield from _in_script(word)
            yield word
    elif reader is AWK:
        certain = [word.replace(UNCERTAIN, "x") for word in words]
        kept = partial(_kept, takes)
        unknown = [_KNOWN_TO_AWK.sub(kept, word) for word in certain]
        yield from islice(words, _MOST_WORDS) if _may_run("awk", unknown) else ()


def _may_run(program: str, words: Sequence[str]) -> bool:
    inline = inline_of(frozenset((program,)))
    return inline is not None and inline.problem(words) is not None


def _kept(takes: Callable[[str], bool], found: re.Match[str]) -> str:
    """Return a command found in an awk program, or a blank if it takes no code."""
    return found[0] if takes(found[1] or found[2] or "") else " "


def _in_script(script: str) -> Iterator[str]:
    """Yield the words of a sed script that a shell may be given: by `e x`, or in `s_a_x_e`."""
    text = _SED_ESCAPE.sub(_meant_by_sed, script)
    yield from filter(None, ENDS_OF_WORDS.split(text))
    for found in islice(_OF_SED.finditer(text), _MOST_IN_SED):
        parts = text[found.end() + 1 :].split(found[1], 2)[:2]
        yield from (one for part in parts for one in ENDS_OF_WORDS.split(part) if one)


def _meant_by_sed(escape: re.Match[str]) -> str:
    for digits, base in zip(escape.groups(), (16, 8, 10), strict=True):
        if digits is not None:
            return chr(int(digits, base) or ord(" "))
    return " "
