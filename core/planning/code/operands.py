"""Find the files in a command that are code: what an interpreter will read is bound as well."""

# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from core.files.lookup import is_file, is_folder, is_there
from core.model.command import PinnedFile
from core.planning.code.arguments import code_folders, code_words, entered, named_in
from core.planning.code.packages import PACKAGE, mains
from core.planning.code.words import ENDS_OF_WORDS, CodeWord, resolved, tails
from core.planning.paths.pins import FINGERPRINTS, Unpinned, pin_file, real_parent
from core.planning.paths.search_path import SearchPath
from core.programs.carriers import in_system_directory

_SHEBANG = re.compile(rb"#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)")
_CODE_SUFFIX = re.compile(
    r".*\.(?:sh|bash|zsh|py|pyz|js|mjs|cjs|ts|rb|pl|pm|php|lua|tcl|awk|sed|mk|sql|R|jl|ps1)",
    re.DOTALL,
)
_WITHIN = ("", "/__main__.py", "/index.js", "/package.json", ".js", ".mjs", ".cjs", ".ts")
"""What an interpreter reads for a word that is a folder, or a module without its suffix."""


_MOST_FOLDERS = 8
_MOST_REACHED = 256
_NO_FILES = ("/dev/", "/proc/", "/sys/")


@dataclass(frozen=True, slots=True)
class Code:
    """What a command runs besides its program; at ``absent`` paths it would, were there any."""

    files: tuple[PinnedFile, ...] = ()
    absent: tuple[str, ...] = ()


def code_operands(
    argv: tuple[str, ...], executable: PinnedFile, cwd: str, search: SearchPath
) -> Code | Unpinned:
    """Pin what a command runs besides its executable.

    That is the interpreter that a ``#!`` line names (through ``env`` the one behind it), and the
    script files that an interpreter, wrapped or not, is given to read.
    """
    pinned: list[PinnedFile] = []
    absent: list[str] = []
    gone: set[str] = set()
    for found in _interpreters(FINGERPRINTS.script_head(executable.sha256), cwd, search):
        if isinstance(found, Unpinned):
            return found
        pinned.append(found)
    inside = (*entered(argv, executable.realpath), *code_folders(argv, executable.realpath, cwd))
    folders = _folders(cwd, inside)
    for word in code_words(argv, executable.realpath):
        path = resolved(word.path)
        at = os.path.join(cwd, path)
        paths = list(_files_of(word, path, folders, gone))
        if not paths and word.sure and word.path and not is_there(at):
            absent.append(at)
        for file in (*paths, *_mains(paths)):
            script = _pin_script(file)
            if isinstance(script, Unpinned):
                return script
            pinned.append(script)
    return Code(tuple(dict.fromkeys(pinned)), tuple(absent))


def _files_of(word: CodeWord, path: str, folders: Iterable[str], gone: set[str]) -> Iterator[str]:
    """Yield the files that an interpreter may read for a word; ``gone`` folders are not there."""
    for folder in folders:
        at = os.path.join(folder, path)
        if not word.whole:
            yield from (at + within for within in _WITHIN if is_file(at + within))
            continue
        above = at.rpartition("/")[0]
        if above in gone:
            continue
        if is_file(at):
            yield at
        elif not is_folder(above):
            gone.add(above)


def _within(path: str) -> Iterator[str]:
    """Yield the file that is named, or those that an interpreter reads for a folder or module."""
    if is_file(path):
        yield path
    else:
        yield from (path + within for within in _WITHIN if is_file(path + within))


def _mains(paths: Iterable[str]) -> Iterator[str]:
    """Yield the files that packages among some files name."""
    for path in paths:
        if path.endswith(f"/{PACKAGE}"):
            yield from filter(is_file, mains(path))


def code_named(text: str, cwd: str) -> tuple[PinnedFile, ...]:
    """Pin the files that look like code among those that an unread text may name.

    A shell decides what it does with them, and in which of the folders that the text names; a
    script that is swapped behind the answer is noticed.
    """
    words = [word.path for word in named_in(text)]
    folders = _folders(cwd, words)
    glued = [tail for word in words for tail in tails(word)]
    named = (*words, *glued)
    paths = dict.fromkeys(os.path.join(folder, word) for folder in folders for word in named)
    pins = (_pin_script(path) for path in paths if _looks_like_code(path))
    return tuple(pin for pin in pins if isinstance(pin, PinnedFile))


def reached_files(
    words: Iterable[str], cwd: str, folders: Iterable[str] = ()
) -> tuple[PinnedFile, ...]:
    """Pin the regular files that words name, whatever they look like; of many the first.

    What cannot be pinned (it is too large, or closed to this user) is left as it is.
    """
    kept = dict.fromkeys(islice(dict.fromkeys(filter(None, words)), _MOST_REACHED))
    if not kept:
        return ()
    places = _folders(cwd, (*folders, *kept))
    named = dict.fromkeys(os.path.join(place, word) for word in kept for place in places)
    paths = [path for one in named for path in _within(one)]
    pins = (_pin_script(path) for path in (*paths, *_mains(paths)) if _may_be_code(path))
    return tuple(dict.fromkeys(pin for pin in pins if isinstance(pin, PinnedFile)))


def programs_named(argv: Sequence[str], cwd: str) -> tuple[PinnedFile, ...]:
    """Pin the programs outside the system's folders that a vector names by a path.

    A program that starts others may start them. Behind ``PATH=`` a name alone is enough.
    """
    pieces = {piece for word in argv[1:] if "/" in word for piece in _programs_in(word)}
    found = [piece for piece in sorted(pieces) if "/" in piece]
    folders = _folders(cwd, argv[1:]) if found else []
    paths = [os.path.join(at, one) for one in found for at in folders]
    for value in (word.removeprefix("PATH=") for word in argv if word.startswith("PATH=")):
        places = [os.path.join(cwd, one) for one in value.split(":")]
        paths += (os.path.join(at, one) for at in places for one in argv[1:] if "/" not in one)
    pins = (
        _pin_script(path)
        for path in dict.fromkeys(islice(paths, _MOST_REACHED))
        if _may_be_code(path) and os.access(path, os.X_OK)
    )
    return tuple(dict.fromkeys(pin for pin in pins if isinstance(pin, PinnedFile)))


def _programs_in(word: str) -> Iterator[str]:
    for piece in (word, *ENDS_OF_WORDS.split(word)):
        yield resolved(piece)
        yield from tails(piece)


def _may_be_code(path: str) -> bool:
    """Return whether a path leads to a file that others than the administrator may exchange."""
    if path.startswith(_NO_FILES) or not is_file(path):
        return False
    real = os.path.realpath(path)
    return not (real.startswith(_NO_FILES) or in_system_directory(real))


def _folders(cwd: str, words: Iterable[str]) -> list[str]:
    """Return the working folder, and the first that words name, there or in the one before."""
    found, last = [cwd], cwd
    for word in dict.fromkeys(filter(None, words)):
        for at in (cwd,) if last == cwd else (cwd, last):
            path = os.path.normpath(os.path.join(at, word))
            if path not in found and is_folder(path):
                found.append(path)
                last = path
        if len(found) > _MOST_FOLDERS:
            break
    return found


def _looks_like_code(path: str) -> bool:
    if not is_file(path) or in_system_directory(os.path.realpath(path)):
        return False
    return _CODE_SUFFIX.fullmatch(path) is not None or os.access(path, os.X_OK)


def _interpreters(head: bytes, cwd: str, search: SearchPath) -> Iterator[PinnedFile | Unpinned]:
    """Resolve a ``#!`` line as the kernel will, and ``env`` as it will in turn."""
    line = _SHEBANG.match(head)
    if line is None:
        return
    interpreter, rest = (os.fsdecode(part) for part in line.groups())
    yield search.find(os.path.join(cwd, interpreter), cwd)
    if interpreter.rpartition("/")[2] == "env":
        names = (word for word in rest.split() if not word.startswith("-") and "=" not in word)
        yield from (search.find(name, cwd) for name in islice(names, 1))


def _pin_script(path: str) -> PinnedFile | Unpinned:
    at = real_parent(path)
    found = pin_file(at)
    return Unpinned(f"its script `{at}` {found.why}") if isinstance(found, Unpinned) else found
