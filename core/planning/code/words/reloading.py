"""Recognise programs that load their code again while they run, when it changes."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from core.planning.code.words.arguments import before_script
from core.planning.code.words.interpreters import Interpreter, interpreter_of
from core.programs.inline_code import Started, commands_started
from core.programs.profiles.tables import table, words
from core.programs.started import Start

_PLAIN_FLAG: Final = re.compile(
    r"--|--[a-z-]+=.*|-[yquvB]+m?|-m|--(?:yes|quiet|silent|verbose|bun|module|offline|frozen|locked"
    r"|isolated|no-(?:install|sync|project|dev|cache|progress|config))",
    re.DOTALL,
)
"""Options of programs that start others, none of which takes the word after it."""

_VALUED: Final = re.compile(
    r"-p|--(?:with|extra|group|env-file|python|package|project|directory|name)"
)
"""Options of the same programs that certainly do."""

_MOST_WRAPPED: Final = 4


class _When(NamedTuple):
    """With which option, or which first word, a program loads its code again."""

    option: re.Pattern[str]
    verb: str


def reloads(argv: Sequence[str], realpath: str) -> bool:
    """Return whether a program, or one that it starts, certainly loads what changed as it runs."""
    if interpreter_of(realpath) not in {None, interpreter_of(argv[0])}:
        return False  # a link with another name: `./nodemon` may be a shell
    command = tuple(argv)
    for _ in range(_MOST_WRAPPED):
        if _reloads(command):
            return True
        started = _first_started(command)
        if started is None or not _surely(started, command):
            break
        command = started.command
    return False


def _first_started(argv: tuple[str, ...]) -> Started | None:
    """Return the command whose name comes first, behind the values of known options."""
    readings = (
        one
        for one in commands_started(argv)
        if not _VALUED.fullmatch(argv[len(argv) - len(one.command) - 1])
    )
    return max(readings, key=lambda one: len(one.command), default=None)


def _surely(started: Started, argv: Sequence[str]) -> bool:
    """Return whether a program starts a command, and no file that has the name of its program."""
    if "/" in started.command[0]:
        return False
    if started.kind is Start.SCRIPT and interpreter_of(started.by) is not None:
        return False  # `python3 nodemon`
    before = argv[1 : len(argv) - len(started.command)]
    options = (word for word in before if word[:1] == "-")
    return all(_PLAIN_FLAG.fullmatch(one) or _VALUED.fullmatch(one) for one in options)


def _reloads(argv: Sequence[str]) -> bool:
    name = argv[0].rpartition("/")[2]
    when = _known().get(name)
    if when is None:
        return False
    reader = interpreter_of(name)
    own = before_script(reader, argv[1:]) if isinstance(reader, Interpreter) else argv[1:]
    return any(map(when.option.fullmatch, own)) or when.verb in {"", *argv[1:2]}


@cache
def _known() -> dict[str, _When]:
    """Return when the programs of ``data/interpreters.toml`` do, by their names."""
    rows = table("interpreters")["reloading"]
    known = dict[str, _When]()
    for row in rows if isinstance(rows, list) else ():
        when = _When(re.compile(row.get("option", "(?!)")), row.get("verb", "-"))
        known.update(dict.fromkeys(words(row, "of"), when))
    return known
