"""Find the files in a command that are code: what an interpreter will read is bound as well."""

# ruff: noqa: PTH113, PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from core.model.command import PinnedFile
from core.runner.pins import FINGERPRINTS, Unpinned, pin_file, real_parent
from core.runner.resolve import SearchPath


@dataclass(frozen=True, slots=True)
class _Family:
    """Interpreters with one style of options.

    ``alone`` matches options that take no word after them, ``inline`` options whose next word is
    the code itself. What neither matches may or may not take the next word.
    """

    names: re.Pattern[str]
    alone: re.Pattern[str]
    inline: re.Pattern[str]


def _family(names: str, alone: str, inline: str) -> _Family:
    return _Family(re.compile(names), re.compile(alone), re.compile(inline))


_FAMILIES = (
    _family(r"(?:python|pypy)[0-9.]*", r"-[BbdEiIOPqsSuvx]+", r"-[BbdEiIOPqsSuvx]*[cm]"),
    _family(
        r"(?:ba|da|a|k|mk|z|c|tc|fi|r|ya)?sh",
        r"-[abefhiklmnpuvxBCEHPT]+|--(?:login|norc|noprofile|posix|verbose)",
        r"-[abefhiklmnpuvxBCEHPT]*c",
    ),
    _family(r"(?:perl|ruby)[0-9.]*", r"-[acnpwlWtTX]+", r"-[aclnpwWtTX]*[eE]"),
    _family(r"node|nodejs|bun|deno|tsx|ts-node", r"--[a-z-]+=.*", r"-p?e|-p|--eval|--print"),
    _family(
        r"(?:php|luajit|lua|tclsh|wish|expect|Rscript|julia|scala|guile|racket|pwsh)[0-9.]*",
        r"--[a-z-]+=.*",
        r"-[rev]",
    ),
)
_PROGRAM_FILE = re.compile(r"(?:[gmn]?awk|g?sed|g?make)")
"""Their plain operands are data or targets; only the word after ``-f`` is code."""

_WRAPPERS = re.compile(
    r"env|nice|ionice|chrt|timeout|nohup|setsid|stdbuf|time|sudo|doas|xargs|flock|busybox|unbuffer"
    r"|strace|ltrace"
)


_SHEBANG = re.compile(rb"#![ \t]*([^ \t\n]+)[ \t]*([^\n]*)")


def code_operands(
    argv: tuple[str, ...], executable: PinnedFile, cwd: str, search: SearchPath
) -> tuple[PinnedFile, ...] | Unpinned:
    """Pin what a command runs besides its executable.

    That is the interpreter that a ``#!`` line names (through ``env`` the one behind it), and the
    script files that an interpreter, wrapped or not, is told to read.
    """
    pinned: list[PinnedFile] = []
    for found in (
        *_interpreters(FINGERPRINTS.script_head(executable.sha256), cwd, search),
        *(_pin_script(path, cwd) for path in _code_paths(argv, executable)),
    ):
        if isinstance(found, Unpinned):
            return found
        if found is not None:
            pinned.append(found)
    return tuple(pinned)


def _interpreters(
    head: bytes, cwd: str, search: SearchPath
) -> Iterator[PinnedFile | Unpinned | None]:
    """Resolve a ``#!`` line as the kernel will, and ``env`` as it will in turn."""
    line = _SHEBANG.match(head)
    if line is None:
        return
    interpreter, rest = (os.fsdecode(part) for part in line.groups())
    yield search.find(os.path.join(cwd, interpreter), cwd)
    if interpreter.rpartition("/")[2] == "env":
        names = (word for word in rest.split() if not word.startswith("-") and "=" not in word)
        yield from (search.find(name, cwd) for name in islice(names, 1))


def _pin_script(path: str, cwd: str) -> PinnedFile | Unpinned | None:
    at = os.path.join(cwd, path)
    if not os.path.isfile(at):
        return None
    at = real_parent(at)
    found = pin_file(at)
    return Unpinned(f"its script `{at}` {found.why}") if isinstance(found, Unpinned) else found


def _code_paths(argv: tuple[str, ...], executable: PinnedFile) -> list[str]:
    """Return the words that may name code."""
    reader = _reader(argv[0]) or _reader(executable.realpath)
    if reader is None:
        return []
    if reader is not _WRAPPERS:
        return _read_by(reader, argv[1:])
    for index, word in enumerate(argv[1:], 2):
        inner = _reader(word)
        if inner is not None and inner is not _WRAPPERS:
            return _read_by(inner, argv[index:])
    return []


@lru_cache(maxsize=1024)
def _reader(path: str) -> _Family | re.Pattern[str] | None:
    """Return how a program of this name takes its code, if it takes any."""
    name = path.rpartition("/")[2]
    for family in _FAMILIES:
        if family.names.fullmatch(name):
            return family
    return next((kind for kind in (_PROGRAM_FILE, _WRAPPERS) if kind.fullmatch(name)), None)


def _read_by(reader: _Family | re.Pattern[str], words: tuple[str, ...]) -> list[str]:
    """Return the words that a program of this kind may read as code."""
    if isinstance(reader, _Family):
        return _scripts(reader, words)
    return [word for flag, word in pairwise(words) if flag == "-f"]


def _scripts(family: _Family, words: tuple[str, ...]) -> list[str]:
    """Return the first plain word, and before it each word that an option may have taken.

    One word too many makes a changed data file deny the run; one too few runs changed code.
    """
    found: list[str] = []
    taken = False
    for word in words:
        if family.inline.fullmatch(word):
            break
        if word.startswith("-") and len(word) > 1:
            taken = word != "--" and family.alone.fullmatch(word) is None
            continue
        found.append(word)
        if not taken:
            break
        taken = False
    return found
