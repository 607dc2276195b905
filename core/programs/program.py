"""Gather once what the tables say about a program, since it does not depend on its arguments."""

from dataclasses import dataclass
from functools import lru_cache

from core.model.command import PinnedFile
from core.programs.carriers import (
    in_installed_directory,
    in_system_directory,
    is_carrier,
    is_known,
    is_plain,
)
from core.programs.inline_code import Inline, inline_of
from core.programs.required_operands import Required, required_of
from core.programs.safe_bins import safe_bin_of
from core.programs.wrappers import names_of, wrapper_kind


@dataclass(frozen=True, slots=True)
class Program:
    """A program under its invoked and its real name.

    ``bare`` and ``laden`` say what kind of wrapper it is without and with arguments; ``inline``
    is what is known about code in its arguments; ``paths`` are what patterns may match;
    ``plain`` programs pass strict trust with any arguments; a ``carrier``'s path is never stored,
    whatever its arguments; ``unknown`` ones are in no table, ``foreign`` ones among
    them are where a system or a package manager keeps its programs;
    ``safe_bin`` is the profile of a filter that a configuration may let pass; ``required`` are the
    operands without which a plain program only complains.
    """

    bare: str | None
    laden: str | None
    inline: Inline | None
    paths: tuple[str, ...]
    plain: bool
    carrier: bool
    unknown: bool
    foreign: bool
    safe_bin: str | None
    required: Required | None = None


def program_of(word: str, file: PinnedFile) -> Program:
    """Return the program that ``argv[0]`` names and the plan pinned."""
    return _program(word, file.path, file.realpath)


@lru_cache(maxsize=16_384)
def _program(word: str, path: str, realpath: str) -> Program:
    names = names_of(word) | names_of(path) | names_of(realpath)
    plain = is_plain(path) and is_plain(realpath)
    unknown = not (is_known(path) or is_known(realpath))
    kept = in_system_directory(realpath) or any(map(in_installed_directory, (path, realpath)))
    return Program(
        bare=wrapper_kind(names, 0),
        laden=wrapper_kind(names, 1),
        inline=inline_of(names),
        paths=tuple(dict.fromkeys((path, realpath))),
        plain=plain,
        carrier=is_carrier(path) or is_carrier(realpath),
        unknown=unknown,
        foreign=unknown and kept,
        safe_bin=safe_bin_of(path, realpath),
        required=required_of(path.rpartition("/")[2].lower()) if plain else None,
    )
