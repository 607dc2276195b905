"""Pin the files that words lead to where it is not known which program reads them, or how."""

# ruff: noqa: PTH118
# pathlib is ten times slower here.

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from core.files.lookup import is_file, is_folder
from core.model.command import PinnedFile
from core.planning.code.files.bulk_lookup import (
    MOST_FILES,
    MOST_FOLDERS,
    TOO_MANY,
    TOO_MANY_FILES,
    Names,
    folders_named,
    leads_elsewhere,
    paths_named,
)
from core.planning.code.files.by_name import own_commands
from core.planning.code.files.matched import paths_matched
from core.planning.code.files.operands import Code, pin_script
from core.planning.code.files.search import Guesses
from core.planning.code.words.assigned import filled, with_own_values
from core.planning.code.words.parts import ENDS_OF_WORDS, climbed, resolved, tails
from core.planning.paths.pins import Unpinned, real_parent
from core.planning.paths.search_path import SearchPath, changes_modes
from core.programs.carriers import in_system_directory

_CODE_SUFFIX = re.compile(
    r".*\.(?:sh|bash|zsh|py|pyz|js|mjs|cjs|ts|rb|pl|pm|php|lua|tcl|awk|sed|mk|sql|R|jl|ps1)",
    re.DOTALL,
)
_MOST_TEXT: Final = 1 << 20
"""Characters of a text with its variables filled in."""

_PATH = re.compile(r"(?:^|[\s;&|({])(?:PATH|GIT_EXEC_PATH|--exec-path)=[\"']?([^\s;&|\"')]+)")
SETS_PATH: Final = re.compile(r"PATH=|--exec-path=")
"""What each text contains that sets where programs are looked for."""

_SOURCES = re.compile(r"(?:^|[\s;&|({])(?:\.|source)\s")
_USUAL = ("/usr/bin", "/bin")


def code_named(
    text: str, cwd: str, search: SearchPath, further: Iterable[str] = ()
) -> Code | Unpinned:
    """Pin the files that look like code among those that an unread text may name.

    The shell decides what to do with them, and in which of the folders that the text names, or of
    ``further`` ones; the pins detect a script that is swapped after the approval. Any file may be
    one if the text, or a command before it, makes files executable.
    """
    if not text:
        return Code()
    makes = changes_modes((text,))
    texts = with_own_values(text)
    if sum(map(len, texts)) > _MOST_TEXT:
        return TOO_MANY
    split = (word for one in texts for word in ENDS_OF_WORDS.split(one) if word)
    said = dict.fromkeys(map(resolved, split))
    folders = folders_named(cwd, (*said, *further))
    if isinstance(folders, Unpinned):
        return folders
    glued = (tail for word in said for tail in (*tails(word), *climbed(word)))
    paths = paths_named(folders, (*said, *glued))
    if isinstance(paths, Unpinned):
        return paths
    return _pinned(path for path in paths if _looks_like_code(path, search, makes=makes))


def reached_files(
    words: Iterable[str], cwd: str, folders: Iterable[str] = (), made: Sequence[str] = ()
) -> Code | Unpinned:
    """Pin the regular files that words name, whatever they look like.

    ``made`` are makefiles, for which the files are pinned from which make would rebuild them. A
    file that cannot be pinned (it is too large, or closed to this user) is skipped.
    """
    kept = dict.fromkeys(filter(None, words))
    if not kept:
        return Code()
    kept |= dict.fromkeys(one for word in tuple(kept) for one in climbed(word))
    places = _places(cwd, folders, kept)
    if isinstance(places, Unpinned):
        return places
    matched = paths_matched(places, kept)
    paths, rebuilt = paths_named(places, kept), paths_named(places, made)
    if (
        isinstance(paths, Unpinned)
        or isinstance(rebuilt, Unpinned)
        or isinstance(matched, Unpinned)
    ):
        return TOO_MANY
    seen = Guesses()
    for path in (*paths, *matched):
        seen.add(path)
    for path in rebuilt:
        seen.add_made(path)
    found = _pinned(path for path in seen.files if _may_be_code(path))
    if isinstance(found, Unpinned):
        return found
    return Code(found.files, (), *seen.beside(one.path for one in found.files))


def _places(cwd: str, folders: Iterable[str], words: Iterable[str]) -> list[str] | Unpinned:
    """Return the folders in which words may name a file: those that they name, or match."""
    inside = (*folders, *words)
    places = folders_named(cwd, inside)
    if isinstance(places, Unpinned):
        return places
    matched = paths_matched(places, inside)
    if isinstance(matched, Unpinned):
        return matched
    entered = [one for one in matched if is_folder(one)]
    return [*places, *entered] if len(entered) <= MOST_FOLDERS else places


def programs_named(
    argv: Sequence[str], cwd: str, search: SearchPath, further: Iterable[str] = ()
) -> Code | Unpinned:
    """Pin the programs outside the system's folders that a vector names by a path.

    A program that starts others may start them. After ``PATH=``, a plain name is enough, and no
    such program may appear in a folder that is searched before the one that contains it.
    """
    words = dict.fromkeys((*argv[1:], *(filled(argv[1:]) or ())))
    pieces = {piece for word in words if "/" in word for piece in _programs_in(word)}
    found = [piece for piece in sorted(pieces) if "/" in piece]
    folders = folders_named(cwd, (*argv[1:], *further)) if found else []
    paths = folders if isinstance(folders, Unpinned) else paths_named(folders, found)
    on_path = _on_path(argv, cwd)
    if isinstance(paths, Unpinned) or isinstance(on_path, Unpinned):
        return paths if isinstance(paths, Unpinned) else TOO_MANY
    makes = changes_modes(argv)
    there = dict.fromkeys((*paths, *(one.path for one in on_path)))
    pins = _pinned(
        path for path in there if _may_be_code(path) and (makes or search.may_start(path))
    )
    if isinstance(pins, Unpinned):
        return pins
    ahead = dict.fromkeys(real_parent(path) for one in on_path for path in one.ahead)
    return Code(pins.files, (), tuple(ahead))


@dataclass(frozen=True, slots=True)
class _OnPath:
    """A file that a plain name leads to, and the paths at which it would be looked for before."""

    path: str
    ahead: tuple[str, ...]


def _on_path(argv: Sequence[str], cwd: str) -> list[_OnPath] | Unpinned:
    """Return what plain names lead to on the search paths that the words of a vector set."""
    values = dict.fromkeys(one[1] for word in argv for one in _PATH.finditer(word))
    if not values:
        return []
    said = dict.fromkeys(one for word in argv[1:] for one in ENDS_OF_WORDS.split(word))
    plain = [one for one in said if "/" not in one]
    names = Names((*plain, *own_commands(argv, plain)))
    sources = any(_SOURCES.search(word) for word in argv)
    found: list[_OnPath] = []
    for value in values:
        places = [at for one in value.split(":") for at in _searched_in(one, cwd)]
        found += _found_on((*places, *[cwd] * sources), names)  # where `.` looks last
    return TOO_MANY if names.exhausted else found


def _found_on(places: Sequence[str], names: Names) -> Iterator[_OnPath]:
    seen = set[str]()
    for place, at in enumerate(places):
        for name, path in names.within(at):
            if name not in seen and is_file(path):
                seen.add(name)
                before = (os.path.join(one, name) for one in places[:place])
                yield _OnPath(path, tuple(before))


def _searched_in(value: str, cwd: str) -> Sequence[str]:
    """Return the folders that one entry of a search path means."""
    if value in {"$PATH", "${PATH}"}:
        return _USUAL
    return (os.path.join(cwd, value.replace("$PWD", cwd).replace("${PWD}", cwd)),)


def _programs_in(word: str) -> Iterator[str]:
    for piece in (word, *ENDS_OF_WORDS.split(word)):
        yield resolved(piece)
        yield from tails(piece)


def _pinned(paths: Iterable[str]) -> Code | Unpinned:
    """Pin files, each once, apart from those that cannot be pinned."""
    files: dict[PinnedFile, None] = {}
    for path in dict.fromkeys(paths):
        pin = pin_script(path)
        if isinstance(pin, PinnedFile):
            files[pin] = None  # several paths may lead to one
        if len(files) > MOST_FILES:
            return TOO_MANY_FILES
    return Code(tuple(files))


def _may_be_code(path: str) -> bool:
    """Return whether a path leads to a file that users other than the administrator may replace."""
    if leads_elsewhere(path) or not is_file(path):
        return False
    real = os.path.realpath(path)
    return not (leads_elsewhere(real) or in_system_directory(real))


def _looks_like_code(path: str, search: SearchPath, *, makes: bool) -> bool:
    if not _may_be_code(path):
        return False
    return makes or _CODE_SUFFIX.fullmatch(path) is not None or search.may_start(path)
