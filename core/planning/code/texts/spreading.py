"""Recognise where words of the input, or what `find` found, may choose what runs."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Final

from core.planning.code.texts.found import Reached
from core.planning.code.texts.wrapping import certain, commands_in
from core.planning.code.words.arguments import read_by
from core.planning.code.words.inputs import takes_input
from core.planning.code.words.interpreters import (
    SHELL,
    Interpreter,
    interpreter_of,
    is_wrapper,
)
from core.planning.code.words.option_files import Reader
from core.planning.code.words.parts import held, in_cluster
from core.planning.code.words.shell_words import shell_words
from core.programs.carriers import is_known
from core.shell.unread_commands import UNCERTAIN

_SPREADING: Final = re.compile(r"g?xargs|parallel|sem")
"""Programs that turn their input into arguments of another program."""

_INPUTS: Final = re.compile(r":{3,4}\+?")
"""What separates the command of parallel from the words that it gets, or files of them."""

_FOUND: Final = "{}"
_MOST_WRAPPERS: Final = 4
_MOST_MARKERS: Final = 32
_REPLACES: Final = re.compile(r"\{[^{} ]*\}")
_REPLACED_NEXT: Final = re.compile(r"-[A-Za-z0-9]*[IJU]|--[a-z-]+")
_REPLACED_GLUED: Final = re.compile(r"(?:-[A-Za-z0]*?[Ii]|--[a-z-]+=)(.+)", re.DOTALL)
_NUMBER: Final = re.compile(r"[\d.]*")


def spreads_code(argv: Sequence[str]) -> bool:
    """Return whether words that xargs or parallel takes from its input may choose what runs."""
    if _SPREADING.fullmatch(argv[0].rpartition("/")[2]) is None:
        return False
    return _makes_code(tuple(takewhile(_is_before_inputs, argv)))


def without_markers(argv: Sequence[str]) -> Iterator[str]:
    """Yield the words of xargs or parallel without what it replaces by words of its input.

    What is left of `%/x` is `x`, in a folder that the input names.
    """
    markers = _markers(argv)
    any_one = "" in markers
    names = map(re.escape, markers)
    marks = re.compile(r"[^/]*/+" if any_one else f"(?:{'|'.join((_REPLACES.pattern, *names))})/*")
    for word in argv[1:]:
        rest = marks.sub("", word, count=int(any_one))
        if rest != word:
            yield rest


def with_unknown(argv: Sequence[str]) -> Sequence[str]:
    """Return a vector of xargs or parallel with what its input replaces as unknown: `sh d/%`."""
    names = map(re.escape, filter(None, _markers(argv)))
    marks = re.compile("|".join((_REPLACES.pattern, *names)))
    return (argv[0], *(marks.sub(UNCERTAIN, word) for word in argv[1:]))


def _is_before_inputs(word: str) -> bool:
    """Return whether parallel takes a word as its command's, not as input: `sh ::: x.sh`."""
    return _INPUTS.fullmatch(word) is None


def _makes_code(argv: Sequence[str]) -> bool:
    interpreters = (
        (place, reader)
        for place, word in enumerate(argv)
        if place and (reader := interpreter_of(word))
    )
    at, inner = next(interpreters, (0, None))
    markers = _markers(argv[:at] if at else argv)
    if inner is None:
        command = _spread_command(argv)
        if command:
            return _names_no_program(command, markers)
        if any(_is_replaced(word, markers) for word in argv[1:] if word not in markers):
            return True
        return not argv[0].endswith("args") and not next(certain(argv[1:]), "")
    if at == len(argv) - 1 or _waits_for_code(inner, argv[at + 1 :]):
        return True
    return any(_is_replaced(word, markers) for word in argv[at:])


def _is_replaced(word: str, markers: Collection[str]) -> bool:
    """Return whether a part of a word is replaced by words of the input."""
    return _REPLACES.search(word) is not None or any(one in word for one in markers)


def _spread_command(argv: Sequence[str]) -> Sequence[str]:
    """Return the command that words of the input are added to, from its name on."""
    found = next(iter(commands_in(argv)), None)
    if found is not None:
        return found
    known = (place for place, word in enumerate(argv) if place and _is_named(word))
    return argv[next(known, len(argv)) :]


def _is_named(word: str) -> bool:
    return word[:1] != "-" and (is_known(word) or is_wrapper(word))


def _names_no_program(argv: Sequence[str], markers: Collection[str]) -> bool:
    """Return whether a vector lacks a program of its own, so that one more word may be it.

    It does if wrappers are all it names, or if the program is one of the ``markers``.
    """
    for _ in range(_MOST_WRAPPERS):
        if not is_wrapper(argv[0]) or interpreter_of(argv[0]):
            return _is_replaced(argv[0], markers)
        found = next(iter(commands_in(argv)), None)
        if not found:
            break
        argv = found
    return not any(is_known(word) and not is_wrapper(word) for word in argv[1:])


def starts_found(commands: Iterable[Sequence[str]], reached: Iterable[Reached]) -> bool:
    """Return whether what `find` found may be code, or the program of one of its commands.

    ``reached`` is what its commands would run: in `find d -exec sh {} +`, that is `{}`.
    """
    if any(_FOUND in path for one in reached for path in one.paths):
        return True
    return any(_names_no_program(one, (_FOUND,)) for one in commands)


def _markers(words: Sequence[str]) -> Collection[str]:
    """Return what words of the input replace; ``""``, which is in every word, for too many."""
    found = frozenset(filter(None, _replaced(words)))
    return found if len(found) <= _MOST_MARKERS else frozenset(("",))


def _replaced(words: Sequence[str]) -> Iterator[str]:
    """Yield the markers that words of the input replace: `-I X`, `-IX`, `--replace=X`."""
    for before, word in pairwise(words):
        if _REPLACED_NEXT.fullmatch(before):
            yield word
        found = _REPLACED_GLUED.fullmatch(word)
        if found is not None:
            yield found[1]
        parts = (*held(word), *in_cluster(word))
        yield from (part for part in parts if not _NUMBER.fullmatch(part))


def _waits_for_code(reader: Interpreter | Reader, words: Sequence[str]) -> bool:
    """Return whether an interpreter would take one more word as code."""
    if reader is SHELL:
        found = shell_words(tuple(words))
        return not found.rest and not found.texts and not any(one.sure for one in found.scripts)
    if isinstance(reader, Interpreter):
        if any(map(reader.inline.fullmatch, words[-1:])):
            return True
        return takes_input(reader, words) and not any(one.sure for one in read_by(reader, words))
    lacks = not all(one.path for one in read_by(reader, words))
    return lacks or (reader.program and not next(certain(words), ""))
