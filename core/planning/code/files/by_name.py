"""Pin what is started by its name alone, from folders where others than the system put programs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.words.parts import ENDS_OF_WORDS
from core.planning.paths.search_path import SearchPath
from core.programs.carriers import in_system_directory
from core.programs.program import program_of

_EXTENDED: Final = ("git", "cargo", "kubectl")
"""Programs that start `NAME-WORD` from the search path for a word that they do not know."""


def started_by_name(
    command: PlannedCommand, search: SearchPath, *, unread: bool
) -> tuple[PinnedFile, ...]:
    """Return the programs on the search path that a command may start, and that may be replaced.

    Nobody reads which of its words these are. ``unread``: a shell reads it all.
    """
    if not search.has_others:
        return ()
    words = [
        word
        for one in command.effective
        if one.executable is not None
        and (unread or may_start_others(one.argv, one.executable) or is_extended(one.argv[0]))
        for word in (*one.argv[1:], *own_commands(one.argv, _pieces(one.argv)))
    ]
    return _found(words, search)


def is_extended(word: str) -> bool:
    """Return whether a program may start one whose name begins with its own: `git q`, `git-q`."""
    return word.rpartition("/")[2] in _EXTENDED


def own_commands(argv: Sequence[str], words: Iterable[str]) -> Iterator[str]:
    """Yield the names of programs that others start for words: `git-q` for `q`."""
    programs = [one for one in _EXTENDED if any(one in word for word in argv)]
    for program, word in product(programs, words):
        if word and "/" not in word and word[0] != "-":
            yield f"{program}-{word}"


def _pieces(words: Iterable[str]) -> Iterator[str]:
    return (one for word in words for one in ENDS_OF_WORDS.split(word))


def may_start_others(argv: tuple[str, ...], executable: PinnedFile) -> bool:
    """Return whether a program may start what its words name, and it is not known which."""
    program = program_of(argv[0], executable)
    inline = program.inline is not None and program.inline.problem(argv[1:]) is not None
    return inline or program.laden is not None


def _found(words: Sequence[str], search: SearchPath) -> tuple[PinnedFile, ...]:
    # Git's own aliases begin with `!`, recipes of make with `@`, `-` or `+`.
    pieces = dict.fromkeys(_pieces(words))
    names = dict.fromkeys(name for one in pieces for name in (one, one.lstrip("!@+-")))
    found = (search.find(one, "/") for one in names if search.has_another(one))
    pins = (one for one in found if isinstance(one, PinnedFile))
    return tuple(one for one in pins if not in_system_directory(one.path))
