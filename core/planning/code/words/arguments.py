"""Name the words of a command that a program will read as code.

With one word too many, a changed data file denies the run; with one too few, changed code runs. So
words that an option may have taken count as well, and only a word that no option can have taken is
``sure`` to be code: if no such file exists, none may appear before the run.
"""

# ruff: noqa: PTH118
# pathlib is ten times slower here.

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise, takewhile
from os.path import join
from typing import Final

from core.planning.code.words.interpreters import (
    MAKE,
    SHELL,
    Interpreter,
    interpreter_of,
    is_wrapper,
    readers_of,
    starts_others,
)
from core.planning.code.words.loading import loaded_modules
from core.planning.code.words.option_files import Reader, any_started, configured_by
from core.planning.code.words.options import (
    clustered,
    is_script,
    modules_in,
    option_values,
    parts_of,
    whole_and_parts,
)
from core.planning.code.words.parts import ENDS_OF_WORDS, CodeWord, held
from core.planning.code.words.shell_words import shell_words
from core.planning.python_modules import searched_by
from core.programs.inline_code import commands_started, is_starter
from core.programs.started import Start

_CHANGES_FOLDER: Final = Reader(
    "C",
    frozenset(
        (
            *("app-dir", "cd", "chdir", "cwd", "default-path", "dir", "directory", "prefix"),
            *("playbook-dir", "project", "project-dir", "project-directory", "pythonpath", "root"),
            *("rootdir", "search-root", "wd", "workdir", "working-dir", "working-directory"),
            "terragrunt-working-dir",
        )
    ),
    setting=re.compile(r"-chdir=(.+)", re.DOTALL),
    least=2,
)
_LOADS: Final = re.compile(r"-[rlL]|--(?:require|import|load|(?:experimental-)?loader)")
_FILE: Final = re.compile(r"/|.\.[A-Za-z]\w*\Z")
_MOST_STARTED = 8
_MOST_WRAPPED = 4


@lru_cache(maxsize=128)  # of a line with 64 commands, each is followed again when it starts
def code_words(argv: tuple[str, ...], realpath: str) -> tuple[CodeWord, ...]:
    """Return the words of a command that may name code, by its name and its program's real path.

    For a wrapper, they are the words of each interpreter that it names; for a program that starts
    another by its name, also those of this one.
    """
    return tuple(_each_once(chain(_own_words(argv, realpath), _of_started(argv))))


def _each_once(words: Iterable[CodeWord]) -> Iterator[CodeWord]:
    """Yield each word once, but all files of modules: how many they are is limited."""
    seen = set[CodeWord]()
    for word in words:
        if word.whole or word not in seen:
            seen.add(word)
            yield word


def _own_words(argv: Sequence[str], realpath: str) -> Iterator[CodeWord]:
    readers = readers_of(argv[0], realpath)
    yield from configuring(argv, realpath)
    for reader in readers:
        yield from read_by(reader, argv[1:])
    if not readers and (is_wrapper(argv[0]) or is_wrapper(realpath)):
        yield from _behind_wrapper(argv)


def _of_started(argv: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the code words of what a program starts: `uv run x.py`, `npx tsx x.ts`."""
    for one in commands_started(tuple(argv)):
        name = one.command[0]
        # An interpreter's own words are read by what is known about its options.
        named = one.kind is not Start.MODULE and interpreter_of(one.by) is None
        if named and (one.kind is Start.SCRIPT or _FILE.search(name)):
            yield CodeWord(name, sure=_FILE.search(name) is not None)
        elif one.kind is Start.MODULE and interpreter_of(one.by) is None:
            yield from modules_in(name)
        yield from _own_words(one.command, name)
        if not (configured_by(name) or interpreter_of(name)):
            of_any = option_values(any_started(), one.command[1:])
            yield from (CodeWord(each.path) for each in of_any)


def configuring(argv: Sequence[str], realpath: str) -> Iterator[CodeWord]:
    """Yield the option files that a command names and that may start programs: `ssh -F x`."""
    reader = configured_by(argv[0]) or configured_by(realpath)
    return iter(()) if reader is None else option_values(reader, argv[1:])


def _behind_wrapper(argv: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the code words of each interpreter named; a name may be a value: `sudo -u sh`."""
    known = (place for place, word in enumerate(argv) if interpreter_of(word))
    first = len(argv)
    for count, place in enumerate(islice(known, _MOST_STARTED)):
        first = min(first, place)
        inner = interpreter_of(argv[place])
        if inner is not None:
            found = read_by(inner, argv[place + 1 :])
            yield from (CodeWord(one.path) if count else one for one in found)
    starters = (place for place in range(1, first) if is_starter(argv[place]))
    for place in islice(starters, _MOST_WRAPPED):
        yield from _of_started(argv[place:])
    if first < len(argv):
        yield from _of_started(argv[first:])


def entered(argv: Sequence[str], realpath: str) -> Iterator[str]:
    """Yield the folders that a program may change to before it starts or reads code."""
    readers = (interpreter_of(argv[0]), interpreter_of(realpath))
    interpreter = next((one for one in readers if isinstance(one, Interpreter)), None)
    own = argv[1:] if interpreter is None else before_script(interpreter, argv[1:])
    yield from (one.path for one in option_values(_CHANGES_FOLDER, own))
    if interpreter is not None and interpreter.modules:
        yield from searched_by(own)
    configured = configured_by(argv[0]) or configured_by(realpath)
    if configured is not None:
        for word, following in pairwise((*own, "")):
            yield from (one.path for one in clustered(configured.into, word, following))
    if any(readers):
        if any(isinstance(one, Reader) and one.enters for one in readers):
            yield from _whole_and_held(argv[1:])
    elif starts_others(argv[0], realpath):
        yield from _whole_and_held(takewhile(lambda word: interpreter_of(word) is None, argv[1:]))


def before_script(reader: Interpreter, words: Sequence[str]) -> Sequence[str]:
    """Return the words up to the script: those after it are the script's own."""
    script = next((one.path for one in _scripts(reader, words) if one.sure), None)
    return words if script is None or script not in words else words[: words.index(script)]


def _whole_and_held(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        yield word
        yield from held(word)


def inline_text(argv: Sequence[str], realpath: str) -> str:
    """Return the code that an interpreter takes from its words, or ``""``."""
    reader = interpreter_of(argv[0]) or interpreter_of(realpath)
    if reader is SHELL:
        return " ".join(filter(ENDS_OF_WORDS.search, shell_words(tuple(argv[1:])).texts))
    if isinstance(reader, Interpreter):
        for word, following in pairwise((*argv[1:], "")):
            if reader.inline.fullmatch(word):
                # A single word is a module, or a command that is looked up on the search path.
                return following if ENDS_OF_WORDS.search(following) else ""
    return ""


def code_folders(argv: Sequence[str], realpath: str, cwd: str) -> Iterator[str]:
    """Yield the folders in which a program searches for its code when given no file."""
    if MAKE not in (interpreter_of(argv[0]), interpreter_of(realpath)):
        return
    yield cwd
    for word in option_values(_CHANGES_FOLDER, argv[1:]):
        yield join(cwd, word.path)


def read_by(reader: Interpreter | Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the words that may name code among those that an interpreter is given."""
    if reader is SHELL:
        return iter(shell_words(tuple(words)).scripts)
    if isinstance(reader, Interpreter):
        scripts = iter(()) if _only_checks(reader, words) else _likely(reader, words)
        return chain(scripts, loaded_modules(reader, words))
    return option_values(reader, words)


def _only_checks(reader: Interpreter, words: Sequence[str]) -> bool:
    """Return whether a script is read and not run: `node -c x.js`, with no other option."""
    first, following = (*words, "", "")[:2]
    return following[:1] not in {"", "-"} and reader.checks.fullmatch(first) is not None


def _likely(reader: Interpreter, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield scripts; behind an option that may have taken it, only one has the name of one."""
    values = {word for before, word in pairwise(words) if reader.takes.fullmatch(before)}
    for one in _scripts(reader, words):
        script = is_script(one.path) and one.path not in values
        yield CodeWord(one.path, sure=one.sure or script)


def _scripts(reader: Interpreter, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield each word that an option may have taken or contains, and then the script."""
    taken = False
    for place, word in enumerate(words):
        if reader.inline.fullmatch(word) and not reader.goes_on:
            if reader.verbs and words[place + 1 : place + 2] and words[place + 1][:1] == "-":
                continue  # node: `-p -r ./x 1`
            yield from _beside_code(reader, words[place + 2 :])
            return
        if reader.listed and word[:1] == "@":
            yield CodeWord(word[1:])
            taken = True  # by an option in that file
        elif word[:1] == "-" and len(word) > 1:
            taken = word != "--" and reader.alone.fullmatch(word) is None
            yield from chain.from_iterable(map(whole_and_parts, held(word)))
        elif taken or word not in reader.verbs:
            yield CodeWord(word, sure=not taken and word != "-")
            if not taken:
                return
            yield from parts_of(word)
            taken = False


def _beside_code(reader: Interpreter, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield what options after the code load: `node -e 1 -r ./x`; Python has none there."""
    for before, word in pairwise(("", *words)):
        if reader.modules or word == "--":
            return
        if _LOADS.fullmatch(before):
            yield CodeWord(word)
        elif word[:1] != "-":
            return
        elif _LOADS.match(word):
            yield from map(CodeWord, held(word))
