"""Recognise programs that start others, or load code, if a file that their words name says so."""

# ruff: noqa: PTH119
# pathlib is ten times slower here.

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from os.path import basename
from typing import Final

from core.programs.profiles.tables import Table, check_keys, section, table, words

NEVER: Final = re.compile(r"(?!)")
"""Matches nothing."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Programs whose plain operands are data; options ``letter`` and ``names`` take files of code.

    A ``fed`` program reads code from its input, unless an ``inline`` option says what to do or it
    has as many operands as ``operands``; ``alone`` matches options that take no word. With one of
    the options ``asks`` it always does. ``program``: without ``-f``, its first operand is code.
    ``speaks``: texts in its words may name files of code. ``letter`` may be a class of letters, and
    a long option may be abbreviated to ``least`` letters, or spelled with ``prefix``. ``setting``
    matches a whole word; its group names a file; not after a first word of ``compiles``, a
    subcommand that runs none of them. ``enters``: before it reads the files that its words name, it
    may change to a folder that they name; ``into`` are the letters of options that only do that.
    ``loose``: a value may be something else than a file, such as an installed module or a
    container's name. ``several`` are options whose values are all words up to the next option.
    ``imports`` matches options whose values are modules of Python; its last group is a value in the
    same word. The group of ``holds`` is a text with more options.
    """

    letter: str
    names: frozenset[str]
    fed: bool = False
    inline: re.Pattern[str] = NEVER
    operands: int = 0
    alone: re.Pattern[str] = NEVER
    asks: re.Pattern[str] = NEVER
    program: bool = False
    speaks: bool = False
    prefix: str = "--"
    setting: re.Pattern[str] = NEVER
    compiles: frozenset[str] = frozenset()
    enters: bool = False
    into: str = "(?!)"
    loose: bool = False
    least: int = 1
    several: frozenset[str] = frozenset()
    imports: re.Pattern[str] = NEVER
    holds: re.Pattern[str] = NEVER


_LEAST_OF_LOOSE: Final = 4
"""Letters of an abbreviated option, of programs that have shorter ones of another meaning."""

_KEYS: Final = frozenset(
    (
        *("of", "letter", "names", "but", "setting", "alone", "compiles", "into", "loose", "least"),
        *("several", "imports", "holds"),
    )
)
_PLAIN: Final = re.compile(r"[\w+.-]+")
_PIECE: Final = re.compile(r"<(\w+)>")
_SUFFIX_OF_NODE: Final = re.compile(r"(?<=.)\.[cm]?js\Z")
_VERSION: Final = re.compile(r"(?<=.)@.*", re.DOTALL)


@lru_cache(maxsize=1024)
def configured_by(path: str) -> Reader | None:
    """Return how the words of a program name a file of options, ``None`` if they name none."""
    # `node node_modules/jest/bin/jest.js`, `npx jest@29`, `hatch run test:pytest`
    name = _VERSION.sub("", _SUFFIX_OF_NODE.sub("", basename(path))).rpartition(":")[2]
    plain, patterns = _rows()
    row = plain.get(name)
    if row is None:
        row = next((one for pattern, one in patterns if re.fullmatch(pattern, name)), None)
    return None if row is None else _reader(row)


def any_started() -> Reader:
    """Return how the words of an unknown program that another one starts name files of options."""
    return _reader(_rows()[0]["-"])


def plainly(option: str) -> str:
    """Return the name of an option without its dashes: `--globalSetup` is `--global-setup`."""
    return option.replace("-", "").replace("_", "").lower()


@cache
def _rows() -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Return the places of the readers by the programs' names, and by patterns of them.

    Raises:
        ValueError: a name is in two of them; the shipped data is broken.
    """
    plain: dict[str, int] = {}
    patterns: list[tuple[str, int]] = []
    for place, row in enumerate(_readers()):
        for name in words(row, "of"):
            if _PLAIN.fullmatch(name) is None:
                patterns.append((name, place))
            elif plain.setdefault(name, place) != place:
                msg = f"policy data: {name} is in option_files.toml twice"
                raise ValueError(msg)
    return plain, patterns


@cache
def _readers() -> tuple[Table, ...]:
    found = table("option_files")["readers"]
    return tuple(found) if isinstance(found, list) else ()


@cache
def _reader(place: int) -> Reader:
    row = _readers()[place]
    check_keys(row, _KEYS)
    loose = bool(row.get("loose"))
    return Reader(
        str(row.get("letter", "(?!)")),
        frozenset(_named(words(row, "names"))) - frozenset(words(row, "but")),
        setting=_pattern(row, "setting"),
        alone=_pattern(row, "alone"),
        compiles=frozenset(words(row, "compiles")),
        into=str(row.get("into", "(?!)")),
        loose=loose,
        least=int(str(row.get("least", _LEAST_OF_LOOSE if loose else 1))),
        several=frozenset(map(plainly, words(row, "several"))),
        imports=_pattern(row, "imports"),
        holds=_pattern(row, "holds"),
    )


def _named(names: tuple[str, ...]) -> Iterator[str]:
    """Yield names of options, and those of the groups among them."""
    for name in names:
        if name.startswith("@"):
            yield from _named(words(section(table("option_files"), "groups"), name[1:]))
        else:
            yield name


def _pattern(row: Table, key: str) -> re.Pattern[str]:
    """Return a pattern; ``<NAME>`` in it means the piece with this name."""
    pieces = section(table("option_files"), "pieces")
    found = _PIECE.sub(lambda piece: str(pieces[piece[1]]), str(row.get(key, "(?!)")))
    return re.compile(found, re.DOTALL)
