"""Read the values of options that name files of code: in the next word, glued, or after ``=``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from typing import Final

from core.planning.code.words.assigned import sets_data
from core.planning.code.words.option_files import NEVER, Reader, plainly
from core.planning.code.words.parts import ENDS_OF_WORDS, CodeWord, pieces_of
from core.planning.python_modules import files_named

_IN_VALUE: Final = re.compile(r"[,:=@]+")
"""What separates the files of one value: `a.yml,b.yml`, `x.py:app`, `file:x.py`."""

_IN_TEXT: Final = re.compile(r"[\s,:=@'\"{}()\[\]]+")
"""The same in a value that is a text: `sh x.sh`, `{"setupFiles":["./x.js"]}`."""

_KEYED: Final = re.compile(r"=|://|[\s{}]")
"""What a value has that is a setting, an address or a text, and not only names of files."""

_WRITES: Final = re.compile(r"-o|--?out[\w-]*")
"""An option before what a program writes; `--record` and the like may have no value."""

_WRITTEN: Final = re.compile(
    r"--?(?:out|log|report|record|save|cache)(?:put|[-_]?(?:s|file|path|dir|directory|folder|name|to))*=",
    re.IGNORECASE,
)
"""What a program writes, with its option."""

_CLUSTER: Final = re.compile(r"-[A-Za-z0-9#:]*")

_MOST_CLUSTERED: Final = 16
"""Letters of options in one word that are looked at, in addition to the last one."""

_LIKELY_FILE: Final = re.compile(r"\.{0,2}/.+|(?!.*://).+\.[A-Za-z]\w*")

_SCRIPT: Final = re.compile(
    r"(?!.*://)[^-].*\.(?:go|swift|cr|nims?|zig|kts?|sc|scala|nix|nf|dart|ml|hs|exs?|cljs?|lisp|scm|rkt"
    r"|raku|bats|lua|[cm]?[jt]sx?|csx?|fsx|dll|exe|jar|java|d|py|sh|rb|pl|php|tcl|exp|jl|R|rs|t|m|ya?ml"
    r"|robot|ipynb|tfplan|groovy|gradle|ps1|sql|mk|xml|cfg|cnf|conf|ini|service|timer|ovpn|hcl)",
    re.DOTALL,
)
"""A name that only a file of code or options has, so that it is to exist."""

_LEAST_OF_CERTAIN: Final = 3
"""Letters of an abbreviated option that is taken for it, if a file follows."""

_MOST_HELD: Final = 8
_MOST_PARTS: Final = 256


def option_values(reader: Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the values of the options that name code: in the next word, glued, or after ``=``."""
    words = words if reader.prefix == "--" else tuple(_spelled(reader, words))
    only_compiled = not reader.compiles.isdisjoint(words[:1])
    before, listing = "", False
    for word, following in pairwise((*words, "")):
        if word.startswith("--"):
            yield from _by_name(reader, word[2:], following)
        for one in clustered(reader.letter, word, following):
            yield from _values(one.path, reader, sure=one.sure)
        listing = _is_list(reader, word) if word[:1] == "-" else listing
        if listing and word[:1] != "-":
            yield from _values(word, reader, sure=False)
        set_here = reader.setting.fullmatch(word)
        if set_here is not None and not (only_compiled or _is_written(reader, before, word)):
            yield from _values(set_here[1], reader, sure=is_script(word))
        said = word.removeprefix("-D")  # cmake's
        if reader.speaks and ENDS_OF_WORDS.search(word) and not sets_data(said):
            yield from map(CodeWord, pieces_of(word))
        before = word
    yield from _imports(reader, words)
    yield from _held_options(reader, words)


def clustered(letter: str, word: str, following: str) -> Iterator[CodeWord]:
    """Yield the values that options in one word may take: `-vfx`, `-1f x`, `-esu x`.

    Only the first that takes one is sure to, and then only if it takes the next word, or a file.
    """
    letters = _CLUSTER.match(word)
    if letters is None:
        return
    pattern, first = _option(letter), True
    last = max(letters.end() - 1, 1)
    for place in dict.fromkeys((*range(1, min(last, _MOST_CLUSTERED)), last)):
        found = pattern.match(word, place)
        if found is not None:
            glued = word[found.end() :]
            certain = not glued or (place == 1 and is_script(glued))
            yield CodeWord(glued or following, sure=first and certain)
            first = False


def _is_list(reader: Reader, option: str) -> bool:
    """Return whether an option takes all words up to the next one."""
    return plainly(option.partition("=")[0]) in reader.several


def _is_written(reader: Reader, before: str, word: str) -> bool:
    """Return whether a program writes what a word names."""
    if _WRITES.fullmatch(before) and not reader.alone.fullmatch(before):
        return True
    return _WRITTEN.match(word) is not None


def _held_options(reader: Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the same for options in the value of another: `-o addopts='-p x'`."""
    if reader.holds is not NEVER:
        found = filter(None, map(reader.holds.fullmatch, words))
        inner = replace(reader, holds=NEVER)
        for one in islice(found, _MOST_HELD):
            yield from option_values(inner, one[1].split())


def _by_name(reader: Reader, option: str, following: str) -> Iterator[CodeWord]:
    """Yield the value of a long option that names a file; the option may be abbreviated."""
    name, joined, value = option.partition("=")
    name, names = plainly(name), _plain_names(reader.names)
    known = name in names
    if known or (len(name) >= reader.least and any(one.startswith(name) for one in names)):
        value = value if joined else following
        certain = known or (len(name) >= _LEAST_OF_CERTAIN and is_script(value))
        yield from _values(value, reader, sure=certain)


def _values(value: str, reader: Reader, *, sure: bool) -> Iterator[CodeWord]:
    """Yield the files that the value of an option may name."""
    likely = not reader.loose or _LIKELY_FILE.fullmatch(value) is not None
    yield CodeWord(value, sure=sure and likely and _IN_VALUE.search(value) is None)
    certain = sure and likely and _KEYED.search(value) is None
    yield from (CodeWord(one.path, certain and is_script(one.path)) for one in parts_of(value))


def is_script(word: str) -> bool:
    """Return whether a word has a name that only a file of code or options has."""
    return _SCRIPT.fullmatch(word) is not None


def whole_and_parts(value: str) -> Iterator[CodeWord]:
    """Yield the file that a value names, and those of its parts."""
    yield CodeWord(value)
    yield from parts_of(value)


def parts_of(value: str) -> Iterator[CodeWord]:
    """Yield the files of a value that names several, or more than a file."""
    if _IN_TEXT.search(value):
        parts = dict.fromkeys(filter(None, _IN_TEXT.split(value)))
        yield from map(CodeWord, islice(parts, _MOST_PARTS))


def _imports(reader: Reader, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the files of the modules that options name: `-p plugin`."""
    for word, following in pairwise((*words, "")):
        found = reader.imports.fullmatch(word)
        if found is not None:
            glued = found[found.lastindex] if found.lastindex else ""
            yield from modules_in(glued or following)


def modules_in(value: str) -> Iterator[CodeWord]:
    """Yield the files of the modules of Python in a word: `a.b`, `a,b:c`."""
    return (CodeWord(one, whole=True) for one in files_named(value))


@cache
def _option(letter: str) -> re.Pattern[str]:
    return re.compile(letter)


@cache
def _plain_names(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(plainly, names))


def _spelled(reader: Reader, words: Sequence[str]) -> Iterator[str]:
    """Yield words with options in their common spelling: ``-W exec`` is ``--exec``."""
    left = iter(words)
    for word in left:
        if word[:2] == reader.prefix:
            yield f"--{word[2:] or next(left, '')}"
        else:
            yield word
