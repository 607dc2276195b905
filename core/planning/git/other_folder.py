"""Read ``git -C FOLDER`` as the same command in that folder, where it only reads (git(1))."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from core.model.command import PinnedFile
from core.programs.carriers import in_system_directory
from core.programs.neutral_environment import is_reading

OPTION: Final = "-C"
_NAME: Final = "git"


@dataclass(frozen=True, slots=True)
class ElsewhereCommand:
    """A command without ``-C``, and the folder that it named."""

    argv: tuple[str, ...]
    folder: str


def without_folder(argv: tuple[str, ...], program: PinnedFile) -> ElsewhereCommand | None:
    """Return a command of the system's git without its ``-C FOLDER``, if it then only reads.

    ``None`` for any other: what a person is asked about runs with the words that it was given.
    """
    at = len(tuple(takewhile(_is_other_option, argv[1:]))) + 1
    if not _is_git(program) or argv[at : at + 1] != (OPTION,) or not _is_plain(argv[at + 1 :]):
        return None
    rest = (*argv[:at], *argv[at + 2 :])
    return ElsewhereCommand(rest, argv[at + 1]) if is_reading(rest, program) else None


def _is_other_option(word: str) -> bool:
    return word.startswith("-") and word != OPTION


def _is_git(program: PinnedFile) -> bool:
    paths = (program.path, program.realpath)
    return all(in_system_directory(one) and one.endswith(f"/{_NAME}") for one in paths)


def _is_plain(following: Sequence[str]) -> bool:
    """Return whether a folder follows that ``cd`` would take for the same one."""
    return bool(following) and following[0] != "" and not following[0].startswith(("-", "+", "//"))
