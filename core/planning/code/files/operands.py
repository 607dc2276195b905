"""Find and pin the files that a command runs as code besides its program, such as scripts."""

# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.bulk_lookup import TOO_MANY, folders_named
from core.planning.code.files.own_output import written_by
from core.planning.code.files.search import Search, stays_absent
from core.planning.code.words.arguments import code_folders, code_words, entered
from core.planning.code.words.parts import CodeWord
from core.planning.paths.pins import FINGERPRINTS, Unpinned, pin_file, real_parent
from core.planning.paths.search_path import SearchPath
from core.planning.python_modules import MOST_FILES

_SHEBANG = re.compile(rb"#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)")
_MOST_SCRIPTS = 256
_MOST_SEARCHED = 20_000
"""Words in folders that are searched as an interpreter would, which takes 20 µs or more each."""


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Code:
    """The files that a command runs besides its program; any that appear at ``absent`` would run.

    ``ahead`` and ``cached`` are as in ``core.model.command.PlannedCommand``.
    """

    files: tuple[PinnedFile, ...] = ()
    absent: tuple[str, ...] = ()
    ahead: tuple[str, ...] = ()
    cached: tuple[str, ...] = ()


def together(*parts: Code | Unpinned) -> Code | Unpinned:
    """Return the union of codes, or why one of them could not be pinned."""
    found: list[Code] = []
    for one in parts:
        if isinstance(one, Unpinned):
            return one
        found.append(one)
    return Code(
        _each_once(one.files for one in found),
        _each_once(one.absent for one in found),
        _each_once(one.ahead for one in found),
        _each_once(one.cached for one in found),
    )


def _each_once(parts: Iterable[tuple[_T, ...]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))


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
    words: Collection[CodeWord],
    pinned: list[PinnedFile],
) -> Code | Unpinned:
    """Pin the files that words name, in addition to those that are already pinned."""
    seen = _looked_for(argv, executable.realpath, cwd, words)
    if isinstance(seen, Unpinned):
        return seen
    for file in seen.files:
        script = pin_script(file)
        if isinstance(script, Unpinned):
            return script
        pinned.append(script)
    return Code(tuple(dict.fromkeys(pinned)), tuple(seen.absent), *seen.beside())


def _looked_for(
    argv: tuple[str, ...], realpath: str, cwd: str, words: Collection[CodeWord]
) -> Search | Unpinned:
    inside = (*entered(argv, realpath), *code_folders(argv, realpath, cwd))
    folders = folders_named(cwd, inside)
    if isinstance(folders, Unpinned):
        return folders
    if len(words) * len(folders) > _MOST_SEARCHED:
        return TOO_MANY
    seen = Search(argv, realpath, folders)
    for word in words:
        seen.add(word)
    return seen


def appeared(command: PlannedCommand, cwd: str, earlier: Sequence[PlannedCommand] = ()) -> str:
    """Return a clause about a file that words lead to by now and that is not bound, or ``""``.

    What ``earlier`` commands of its line wrote as outputs of the same program does not count.
    """
    file = command.executable
    named = () if file is None else code_words(command.argv, file.realpath)
    words = [one for one in dict.fromkeys(named) if not stays_absent(one)]
    if file is None or not words:
        return ""
    looked = _looked_for(command.argv, file.realpath, cwd, words)
    if isinstance(looked, Unpinned):
        return f"`{command.argv[0]}` {looked.why} by now"
    bound = {one.path for one in command.operands}
    added = (path for path in map(real_parent, looked.files) if path not in bound)
    new = next((path for path in added if not written_by(file, earlier, path)), "")
    return f"`{new}` did not exist when this was asked" if new else ""


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


def pin_script(path: str) -> PinnedFile | Unpinned:
    """Pin a file of code at the path that its folder's links lead to."""
    at = real_parent(path)
    found = pin_file(at)
    return Unpinned(f"its script `{at}` {found.why}") if isinstance(found, Unpinned) else found
