"""Name the words of a vector that a program will read as code.

One word too many makes a changed data file deny the run; one too few runs changed code. So what an
option may have taken counts as well, and only a word in a place where no option can have it is
``sure`` to be code: if no such file is there, it must not come about before the run.
"""

# ruff: noqa: PTH118, PTH119
# pathlib is ten times slower here.

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from os.path import basename, join
from typing import Final

from core.programs.wrappers import names_of, wrapper_kind

_VALUE_OF = re.compile(r"--?[A-Za-z][\w-]*=(.+)", re.DOTALL)
_GLUED = re.compile(r"-[A-Za-z](.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeWord:
    """A word that may name a file of code; ``sure`` where it can be nothing else."""

    path: str
    sure: bool = False


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """Interpreters with one style of options.

    ``alone`` matches options that take no word after them, ``inline`` options whose next word is
    the code itself. What neither matches may or may not take the next word. ``verbs`` are plain
    words before the script.
    """

    alone: re.Pattern[str]
    inline: re.Pattern[str]
    verbs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Programs whose plain operands are data; ``letter`` and ``names`` are options before code."""

    letter: str
    names: frozenset[str]


_VERBS: Final = frozenset(("run", "test", "watch", "serve", "bench"))
_KNOWN: Final = (
    (
        re.compile(r"(?:python|pypy)[0-9.]*"),
        _Interpreter(re.compile(r"-[BbdEiIOPqsSuvx]+"), re.compile(r"-[BbdEiIOPqsSuvx]*[cm]")),
    ),
    (
        re.compile(r"(?:ba|da|a|k|mk|z|c|tc|fi|r|ya)?sh"),
        _Interpreter(
            re.compile(r"-[abefhiklmnpuvxBCEHPT]+|--(?:login|norc|noprofile|posix|verbose)"),
            re.compile(r"-[abefhiklmnpuvxBCEHPT]*c"),
        ),
    ),
    (
        re.compile(r"(?:perl|ruby)[0-9.]*"),
        _Interpreter(re.compile(r"-[acnpwlWtTX]+"), re.compile(r"-[aclnpwWtTX]*[eE]")),
    ),
    (
        re.compile(r"node|nodejs|bun|deno|tsx|ts-node"),
        _Interpreter(re.compile(r"--[a-z-]+=.*"), re.compile(r"-p?e|-p|--eval|--print"), _VERBS),
    ),
    (
        re.compile(
            r"(?:php|luajit|lua|tclsh|wish|expect|Rscript|julia|scala|guile|racket|pwsh)[0-9.]*"
        ),
        _Interpreter(re.compile(r"--[a-z-]+=.*"), re.compile(r"-[rev]")),
    ),
    (re.compile(r"[gmn]?awk|g?sed|psql"), _Reader("f", frozenset(("file",)))),
    (re.compile(r"g?make"), _Reader("f", frozenset(("file", "makefile")))),
    (re.compile(r"gdb"), _Reader("x", frozenset(("command", "init-command")))),
)
_MAKE: Final = re.compile(r"g?make")
_CHANGES_FOLDER: Final = _Reader("C", frozenset(("directory",)))
_ENDS_OF_WORDS = re.compile(r"[\s'\"`;|&<>(){}$=,]+")
_MOST_NAMED = 64
_STARTERS: Final = re.compile(r"g?find")
"""Programs that start the first program named behind them, beside the wrappers of the policy."""


def code_words(argv: Sequence[str], realpath: str) -> Iterator[CodeWord]:
    """Yield the words of a vector that may name code, by its name and its program's real one."""
    reader = _reader(argv[0]) or _reader(realpath)
    if reader is not None:
        yield from _read_by(reader, argv[1:])
    elif _is_wrapper(argv[0]) or _is_wrapper(realpath):
        for index, word in enumerate(argv[1:], 2):
            inner = _reader(word)
            if inner is not None:
                yield from _read_by(inner, argv[index:])
                return


def entered(argv: Sequence[str], realpath: str) -> Iterator[str]:
    """Yield the folders that a wrapper may change to before it starts an interpreter."""
    if _reader(argv[0]) or _reader(realpath):
        return
    if _is_wrapper(argv[0]) or _is_wrapper(realpath):
        for word in islice(argv, 1, None):
            if _reader(word) is not None:
                return
            yield word
            yield from _held(word)


def inline_text(argv: Sequence[str], realpath: str) -> str:
    """Return the code that an interpreter takes from its words, or ``""``."""
    reader = _reader(argv[0]) or _reader(realpath)
    if isinstance(reader, _Interpreter):
        for word, following in pairwise((*argv[1:], "")):
            if reader.inline.fullmatch(word):
                # A word alone is a module, or a command that is looked up on the search path.
                return following if _ENDS_OF_WORDS.search(following) else ""
    return ""


def code_folders(argv: Sequence[str], realpath: str, cwd: str) -> Iterator[str]:
    """Yield the folders in which a program searches for its code when given no file."""
    if not any(_MAKE.fullmatch(basename(path)) for path in (argv[0], realpath)):
        return
    yield cwd
    for word in _named(_CHANGES_FOLDER, argv[1:]):
        yield join(cwd, word.path)


def named_in(text: str) -> Iterator[CodeWord]:
    """Yield what may name a file in a text that is not read for certain; of much text the first."""
    words = dict.fromkeys(filter(None, _ENDS_OF_WORDS.split(text[:65_536])))
    yield from map(CodeWord, islice(words, _MOST_NAMED))


def _is_wrapper(path: str) -> bool:
    name = basename(path)
    return _STARTERS.fullmatch(name) is not None or wrapper_kind(names_of(name), 1) is not None


@lru_cache(maxsize=1024)
def _reader(path: str) -> _Interpreter | _Reader | None:
    """Return how a program of this name takes its code, if it takes any."""
    name = basename(path)
    return next((reader for names, reader in _KNOWN if names.fullmatch(name)), None)


def _read_by(reader: _Interpreter | _Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    if isinstance(reader, _Interpreter):
        return _scripts(reader, words)
    return _named(reader, words)


def _scripts(reader: _Interpreter, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the script, and before it each word that an option may have taken or holds."""
    taken = False
    for word in words:
        if reader.inline.fullmatch(word):
            return
        if word.startswith("-") and len(word) > 1:
            taken = word != "--" and reader.alone.fullmatch(word) is None
            yield from map(CodeWord, _held(word))
        elif taken or word not in reader.verbs:
            yield CodeWord(word, sure=not taken and word != "-")
            if not taken:
                return
            taken = False


def _held(option: str) -> Iterator[str]:
    """Yield what an option may hold itself: ``--import=x.js``, ``-r./x``."""
    for shape in (_VALUE_OF, _GLUED):
        found = shape.fullmatch(option)
        if found is not None:
            yield found.group(1)


def _named(reader: _Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the values of the options that name code: next to them, glued, or behind ``=``."""
    for word, following in pairwise((*words, "")):
        name, joined, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in reader.names:
            yield CodeWord(value if joined else following, sure=True)
        cluster = re.fullmatch(rf"-[A-Za-z]*?{reader.letter}(.*)", word, re.DOTALL)
        if cluster is not None:
            glued = cluster.group(1)
            yield CodeWord(glued or following, sure=not glued)
