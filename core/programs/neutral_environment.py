"""Return the environment that switches off what a program would obey besides its arguments.

Many programs read a configuration from the folder that they work in, and start or write what it
names. Most of them let an environment variable override that. ``data/neutral.toml`` lists these
variables by program, with the settings that each one covers (docs/decisions/0020).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from core.model.command import PinnedFile
from core.programs.carriers import carrier_problem, is_carrier, is_plain
from core.programs.profiles.tables import Table, section, table, words
from core.programs.shims import own_paths
from core.programs.wrappers import names_of

Pairs = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""


_KEY = "GIT_CONFIG_KEY_"


class When(StrEnum):
    """For which commands a row holds.

    ``EVERYWHERE`` rows are in the environment of every child, whatever it runs. ``ALWAYS`` rows are
    set for each invocation of the program, even one that a person approved, so they must not change
    anything that a person could mean. ``READING`` rows are set only for those invocations that the
    program's profile knows to be harmless.
    """

    EVERYWHERE = "everywhere"
    ALWAYS = "always"
    READING = "reading"


@dataclass(frozen=True, slots=True)
class Row:
    """One variable, or one git setting (``GIT_CONFIG_KEY_n``), and what it overrides.

    ``covers`` are names of settings as the program's manual writes them, in lower case; ``*``
    means any text.
    """

    when: When
    name: str
    value: str
    is_setting: bool
    covers: tuple[str, ...]


@lru_cache(maxsize=4096)
def rows_of(word: str, path: str, realpath: str) -> tuple[Row, ...]:
    """Return the rows of a program, by its invoked word and its paths, and of what it runs."""
    names = names_of(word) | names_of(path) | names_of(realpath)
    known = table("neutral")
    return tuple(
        row
        for program in known
        if not names.isdisjoint({program, *words(section(known, program), "run_by")})
        for row in _rows(program)
    )


def everywhere_for(argv: Sequence[str], file: PinnedFile) -> Pairs:
    """Return what every child has, if any of that is about this program."""
    rows = rows_of(argv[0], file.path, file.realpath)
    return everywhere() if any(row.when is When.EVERYWHERE for row in rows) else ()


def neutral_environment(argv: Sequence[str], file: PinnedFile) -> Pairs:
    """Return what is set for one command beyond the environment of every child."""
    rows = rows_of(argv[0], file.path, file.realpath)
    return _pairs(rows, _is_neutral(argv, file)) if rows else ()


def approved_environment(argv: Sequence[str], file: PinnedFile) -> Pairs:
    """Return what is set for a command that runs only because a person approved it."""
    rows = rows_of(argv[0], file.path, file.realpath)
    return _pairs(rows, False) if rows else ()


def is_reading(argv: Sequence[str], file: PinnedFile) -> bool:
    """Return whether a program's profile knows an invocation to be harmless.

    Nothing is known about a program in no table: it may be one that runs git for a person.
    """
    if not (is_plain(file.path) or is_carrier(file.path)):
        return False
    paths = own_paths(file.path, file.realpath)
    return all(carrier_problem(path, argv[1:]) is None for path in paths)


def takes_effect(row: Row, neutral: Pairs) -> bool:
    """Return whether a row is set in the environment that a command got."""
    if row.when is When.EVERYWHERE:
        return True
    wanted = (row.name, row.value)
    if not row.is_setting:
        return wanted in neutral
    return any(name.startswith(_KEY) and value == row.name for name, value in neutral)


def may_share(argv: Sequence[str], file: PinnedFile) -> bool:
    """Return whether a command in a wrapper may share what is set for harmless ones next to it."""
    return is_reading(argv, file)


def union(every: Iterable[Pairs]) -> Pairs:
    """Return several environments as one; the last value of a name wins."""
    return tuple(sorted({name: value for one in every for name, value in one}.items()))


def _is_neutral(argv: Sequence[str], file: PinnedFile) -> bool:
    """Return whether a command gets the rows of a reading."""
    shown = _without(argv[0], file.path, file.realpath)
    if shown and next((word for word in argv[1:] if not word.startswith("-")), "") in shown:
        return False
    return is_reading(argv, file)


@lru_cache(maxsize=4096)
def _without(word: str, path: str, realpath: str) -> frozenset[str]:
    names = names_of(word) | names_of(path) | names_of(realpath)
    known = table("neutral")
    return frozenset(
        one
        for program in known
        if program in names
        for one in words(section(known, program), "without")
    )


@cache
def everywhere() -> Pairs:
    """Return what is set in the environment of every child."""
    rows = (row for program in table("neutral") for row in _rows(program))
    return _environment(row for row in rows if row.when is When.EVERYWHERE)


@lru_cache(maxsize=256)
def _pairs(rows: tuple[Row, ...], reading: bool) -> Pairs:  # noqa: FBT001 - a key of the cache
    wanted = [row for row in rows if reading or row.when is not When.READING]
    added = any(row.when is not When.EVERYWHERE for row in wanted)
    return _environment(wanted) if added else ()


def _environment(rows: Iterable[Row]) -> Pairs:
    chosen = tuple(rows)
    settings = [(row.name, row.value) for row in chosen if row.is_setting]
    environ = {row.name: row.value for row in chosen if not row.is_setting}
    if settings:
        environ["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (name, value) in enumerate(settings):
            environ[f"{_KEY}{number}"] = name
            environ[f"GIT_CONFIG_VALUE_{number}"] = value
    return tuple(sorted(environ.items()))


@cache
def _rows(program: str) -> tuple[Row, ...]:
    holder = section(table("neutral"), program)
    return tuple(_row(holder, when, name) for when in When for name in section(holder, when))


def _row(holder: Table, when: When, name: str) -> Row:
    """Build one row; a name with a dot in it is a git setting, any other a variable.

    Raises:
        TypeError: the row has no text as its value, or covers nothing.
    """
    row = section(section(holder, when), name)
    value, covers = row.get("value"), words(row, "covers")
    if not isinstance(value, str) or not covers:
        msg = f"policy data: neutral.toml must say value and covers of {name}"
        raise TypeError(msg)
    return Row(when, name, value, "." in name, covers)
