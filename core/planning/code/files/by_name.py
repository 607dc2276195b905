"""Pin what is started by its name alone, from folders where others than the system put programs."""

from collections.abc import Sequence

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.words.parts import ENDS_OF_WORDS
from core.planning.paths.search_path import SearchPath
from core.programs.carriers import in_system_directory
from core.programs.program import program_of


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
        if one.executable is not None and (unread or may_start_others(one.argv, one.executable))
        for word in one.argv[1:]
    ]
    return _found(words, search)


def may_start_others(argv: tuple[str, ...], executable: PinnedFile) -> bool:
    """Return whether a program may start what its words name, and it is not known which."""
    program = program_of(argv[0], executable)
    inline = program.inline is not None and program.inline.problem(argv[1:]) is not None
    return inline or program.laden is not None


def _found(words: Sequence[str], search: SearchPath) -> tuple[PinnedFile, ...]:
    # Git's own aliases begin with `!`, recipes of make with `@`, `-` or `+`.
    pieces = dict.fromkeys(one for word in words for one in ENDS_OF_WORDS.split(word))
    names = dict.fromkeys(name for one in pieces for name in (one, one.lstrip("!@+-")))
    found = (search.find(one, "/") for one in names if search.has_another(one))
    pins = (one for one in found if isinstance(one, PinnedFile))
    return tuple(one for one in pins if not in_system_directory(one.path))
