"""Find and pin the files that a command runs as code besides its program, such as scripts."""

# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from core.files.lookup import is_file, is_folder
from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.own_output import written_by
from core.planning.code.files.search import Guesses, Search, stays_absent
from core.planning.code.words.arguments import code_folders, code_words, entered, named_in
from core.planning.code.words.assigned import filled, with_own_values
from core.planning.code.words.parts import ENDS_OF_WORDS, CodeWord, held, resolved, tails
from core.planning.paths.pins import FINGERPRINTS, Unpinned, pin_file, real_parent
from core.planning.paths.search_path import SearchPath, changes_modes
from core.planning.python_modules import MOST_FILES
from core.programs.carriers import in_system_directory

_SHEBANG = re.compile(rb"#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)")
_CODE_SUFFIX = re.compile(
    r".*\.(?:sh|bash|zsh|py|pyz|js|mjs|cjs|ts|rb|pl|pm|php|lua|tcl|awk|sed|mk|sql|R|jl|ps1)",
    re.DOTALL,
)
_MOST_SCRIPTS = 256
_MOST_FOLDERS = 8
_MOST_PLACES = 4096
_PATH = re.compile(r"(?:^|[\s;&|({])PATH=[\"']?([^\s;&|\"')]+)")
_SOURCES = re.compile(r"(?:^|[\s;&|({])(?:\.|source)\s")
_USUAL = ("/usr/bin", "/bin")
_MOST_PARTS = 64
_MOST_REACHED = 256
_NO_FILES = ("/dev/", "/proc/", "/sys/")


@dataclass(frozen=True, slots=True)
class Code:
    """The files that a command runs besides its program; any that appear at ``absent`` would run.

    ``ahead`` and ``cached`` are as in ``core.model.command.PlannedCommand``.
    """

    files: tuple[PinnedFile, ...] = ()
    absent: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()

    def and_also(self, more: "Code") -> "Code":
        """Return this and more code."""
        return Code(
            tuple(dict.fromkeys((*self.files, *more.files))),
            tuple(dict.fromkeys((*self.absent, *more.absent))),
            tuple(dict.fromkeys((*self.ahead, *more.ahead))),
            tuple(dict.fromkeys((*self.cached, *more.cached))),
        )


def code_operands(
    argv: tuple[str, ...], executable: PinnedFile, cwd: str, search: SearchPath
) -> Code | Unpinned:
    """Pin what a command runs besides its executable.

    That is the interpreter that a ``#!`` line names (with ``env``, the one after it), and the
    script files that an interpreter, wrapped or not, is given to read.
    """
    pinned: list[PinnedFile] = []
    for found in _interpreters(FINGERPRINTS.script_head(executable.sha256), cwd, search):
        if isinstance(found, Unpinned):
            return found
        pinned.append(found)
    named = code_words(argv, executable.realpath)
    words = tuple(dict.fromkeys(named))
    if not words:
        return Code(tuple(dict.fromkeys(pinned)))
    if sum(word.whole for word in named) > MOST_FILES:
        return Unpinned("names modules in too many packages for all of them to be looked for")
    if sum(word.sure for word in words) > _MOST_SCRIPTS:
        return Unpinned(f"names more than {_MOST_SCRIPTS} files of code")
    return _searched(argv, executable, cwd, words, pinned)


def _searched(
    argv: tuple[str, ...],
    executable: PinnedFile,
    cwd: str,
    words: Iterable[CodeWord],
    pinned: list[PinnedFile],
) -> Code | Unpinned:
    """Pin the files that words name, in addition to those that are already pinned."""
    seen = _looked_for(argv, executable.realpath, cwd, words)
    for file in seen.files:
        script = _pin_script(file)
        if isinstance(script, Unpinned):
            return script
        pinned.append(script)
    return Code(tuple(dict.fromkeys(pinned)), tuple(seen.absent), *seen.beside())


def _looked_for(
    argv: tuple[str, ...], realpath: str, cwd: str, words: Iterable[CodeWord]
) -> Search:
    inside = (*entered(argv, realpath), *code_folders(argv, realpath, cwd))
    seen = Search(argv, realpath, _folders(cwd, inside))
    for word in words:
        seen.add(word)
    return seen


def appeared(command: PlannedCommand, cwd: str, earlier: Sequence[PlannedCommand] = ()) -> str:
    """Return a file that a command's words lead to by now and that it does not bind, or ``""``.

    What ``earlier`` commands of its line wrote as outputs of the same program does not count.
    """
    file = command.executable
    named = () if file is None else code_words(command.argv, file.realpath)
    words = [one for one in dict.fromkeys(named) if not stays_absent(one)]
    if file is None or not words:
        return ""
    bound = {one.path for one in command.operands}
    found = map(real_parent, _looked_for(command.argv, file.realpath, cwd, words).files)
    added = (path for path in found if path not in bound)
    return next((path for path in added if not written_by(file, earlier, path)), "")


def code_named(text: str, cwd: str, search: SearchPath) -> tuple[PinnedFile, ...]:
    """Pin the files that look like code among those that an unread text may name.

    The shell decides what to do with them, and in which of the folders that the text names; the
    pins detect a script that is swapped after the approval. Any file may be one if the text, or a
    command before it, makes files executable.
    """
    makes = changes_modes((text,))
    words = [word.path for said in with_own_values(text) for word in named_in(said)]
    folders = _folders(cwd, words)
    glued = [tail for word in words for tail in tails(word)]
    named = (*words, *glued)
    paths = dict.fromkeys(os.path.join(folder, word) for folder in folders for word in named)
    pins = (_pin_script(path) for path in paths if _looks_like_code(path, search, makes=makes))
    return tuple(pin for pin in pins if isinstance(pin, PinnedFile))


def reached_files(
    words: Iterable[str], cwd: str, folders: Iterable[str] = (), made: Sequence[str] = ()
) -> Code:
    """Pin the regular files that words name, whatever they look like; of many, the first.

    ``made`` are makefiles, for which the files are pinned from which make would rebuild them. A
    file that cannot be pinned (it is too large, or closed to this user) is skipped.
    """
    kept = dict.fromkeys(islice(dict.fromkeys(filter(None, words)), _MOST_REACHED))
    if not kept:
        return Code()
    places = _folders(cwd, (*folders, *kept))
    seen = Guesses()
    for path in dict.fromkeys(os.path.join(place, word) for word in kept for place in places):
        seen.add(path)
    for path in (os.path.join(place, word) for word in made[:_MOST_FOLDERS] for place in places):
        seen.add_made(path)
    pins = (_pin_script(path) for path in seen.files if _may_be_code(path))
    files = tuple(dict.fromkeys(pin for pin in pins if isinstance(pin, PinnedFile)))
    return Code(files, (), *seen.beside(one.path for one in files))


def programs_named(argv: Sequence[str], cwd: str, search: SearchPath) -> Code:
    """Pin the programs outside the system's folders that a vector names by a path.

    A program that starts others may start them. After ``PATH=``, a plain name is enough, and no
    such program may appear in a folder that is searched before the one that contains it.
    """
    words = dict.fromkeys((*argv[1:], *(filled(argv[1:]) or ())))
    pieces = {piece for word in words if "/" in word for piece in _programs_in(word)}
    found = [piece for piece in sorted(pieces) if "/" in piece]
    folders = _folders(cwd, argv[1:]) if found else []
    paths = [os.path.join(at, one) for one in found for at in folders]
    ahead: list[str] = []
    sources = any(_SOURCES.search(word) for word in argv)
    for value in islice((one[1] for word in argv for one in _PATH.finditer(word)), _MOST_FOLDERS):
        places = [at for one in value.split(":") for at in _searched_in(one, cwd)]
        places = [*places[:_MOST_REACHED], *[cwd] * sources]  # where `.` looks last
        for tried in islice(_tried(argv, places), _MOST_REACHED):
            first = next((at for at, path in enumerate(tried) if is_file(path)), 0)
            ahead += tried[:first]
            paths += tried[first : first + 1]
    makes = changes_modes(argv)
    pins = (
        _pin_script(path)
        for path in dict.fromkeys(islice(paths, _MOST_REACHED))
        if _may_be_code(path) and (makes or search.may_start(path))
    )
    files = tuple(dict.fromkeys(pin for pin in pins if isinstance(pin, PinnedFile)))
    return Code(files, (), tuple(dict.fromkeys(map(real_parent, ahead))))


def _searched_in(value: str, cwd: str) -> Sequence[str]:
    """Return the folders that one entry of a search path means."""
    if value in {"$PATH", "${PATH}"}:
        return _USUAL
    return (os.path.join(cwd, value.replace("$PWD", cwd).replace("${PWD}", cwd)),)


def _tried(argv: Sequence[str], places: Sequence[str]) -> Iterator[list[str]]:
    """Yield, for each plain name, the paths at which it is looked for."""
    names = dict.fromkeys(one for word in argv[1:] for one in ENDS_OF_WORDS.split(word))
    for name in names:
        if name and "/" not in name:
            yield [os.path.join(at, name) for at in places]


def _programs_in(word: str) -> Iterator[str]:
    for piece in (word, *ENDS_OF_WORDS.split(word)):
        yield resolved(piece)
        yield from tails(piece)


def _may_be_code(path: str) -> bool:
    """Return whether a path leads to a file that users other than the administrator may replace."""
    if path.startswith(_NO_FILES) or not is_file(path):
        return False
    real = os.path.realpath(path)
    return not (real.startswith(_NO_FILES) or in_system_directory(real))


def _folders(cwd: str, words: Iterable[str]) -> list[str]:
    """Return the working folder, and the first folders named, within it or within the last one."""
    found, last = [cwd], cwd
    for word in islice(dict.fromkeys(filter(None, _places(words))), _MOST_PLACES):
        for at in (cwd,) if last == cwd else (cwd, last):
            path = os.path.normpath(os.path.join(at, word))
            if path not in found and is_folder(path):
                found.append(path)
                last = path
        if len(found) > _MOST_FOLDERS:
            break
    return found


def _places(words: Iterable[str]) -> Iterator[str]:
    """Yield what may name a folder: a whole word, the value of an option, a part of a text."""
    for word in words:
        for whole in (word, *held(word)):
            yield whole
            if " " in whole:
                parts = islice(whole.split(), _MOST_PARTS)
                yield from (one for part in parts for one in (part, *held(part)))


def _looks_like_code(path: str, search: SearchPath, *, makes: bool) -> bool:
    if not is_file(path) or in_system_directory(os.path.realpath(path)):
        return False
    return makes or _CODE_SUFFIX.fullmatch(path) is not None or search.may_start(path)


def _interpreters(head: bytes, cwd: str, search: SearchPath) -> Iterator[PinnedFile | Unpinned]:
    """Resolve a ``#!`` line as the kernel will, and ``env`` as it will in turn."""
    if not head:
        return
    line = _SHEBANG.match(head)
    if line is None:  # `env ./x` has a shell read what the kernel does not start
        yield search.find("/bin/sh", cwd)
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
