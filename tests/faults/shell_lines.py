"""Make command lines that try to be read differently from how a shell reads them."""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

from tests.faults.shell_forms import (
    ALONE,
    BREAKS,
    GLOBS,
    LOOP_ENDS,
    LOOP_HEADS,
    LOOP_VALUES,
    PRINTERS,
    ROUTES,
    STATUSES,
    STEPS,
    VALUES,
)
from tests.faults.shell_pieces import (
    BLANKS,
    DOUBLE,
    ESCAPES,
    NAMES,
    NASTY,
    OPERATORS,
    PLAIN,
    SHELL_WORDS,
    SINGLE,
)

CORPUS = Path(__file__).parents[1] / "corpus"

# A shell runs these itself, so nothing could be seen at execve.
_VISIBLE = {"echo": "rg", "printf": "jq", "test": "cat", "pwd": "ls", "true": "a", "false": "b"}


@cache
def _seed_lines() -> tuple[str, ...]:
    commands = json.loads((CORPUS / "commands.json").read_text())
    readings = json.loads((CORPUS / "shell_readings.json").read_text())
    lines = [entry["command"] for entry in commands if "command" in entry]
    lines += [entry["input"] for entry in readings]
    visible = re.compile(r"\b(" + "|".join(_VISIBLE) + r")\b")
    return tuple(
        visible.sub(lambda m: _VISIBLE[m[0]], line).replace("/tmp/", "./")
        for line in lines
        if len(line) < 120
    )


def _some(rng: Random, pieces: Sequence[str], most: int) -> str:
    return "".join(rng.choices(pieces, k=rng.randint(0, most)))


def _piece(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(GLOBS)
    if kind < 0.06:
        return rng.choice(VALUES)
    if kind < 0.4:
        return rng.choice(PLAIN)
    if kind < 0.6:
        return f"'{_some(rng, SINGLE, 5)}'"
    if kind < 0.85:
        return f'"{_some(rng, DOUBLE, 5)}"'
    return rng.choice(ESCAPES)


def _built(rng: Random) -> str:
    """Draw a line that should mostly be readable."""
    line = _told(rng) if rng.random() < 0.05 else ""
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        line += _joint(rng) if line else rng.choice(("", "", " ", "\n", "# c\n"))
        line += rng.choice(STEPS) if rng.random() < 0.12 else _command(rng)
    return line + rng.choice(("", "", "", "", " ", ";", " ; ", "\n", " # c", "\n\n"))


def _told(rng: Random) -> str:
    """Draw a command that may fail, a change of folder or a loop, and one that prints a status."""
    between = rng.choice((*STEPS[:9], "for x in a b; do rg $x && ls x$x; done", "ls a | rg"))
    return f"{_command(rng)}{rng.choice((';', BREAKS[0]))}{between}{_joint(rng)}{_printed(rng)}"


def _looped(rng: Random) -> str:
    """Draw a loop, its body mostly with words that name its variable."""
    line = rng.choice(("", "", "", "ls; ", "rg a\n", "cd sub && "))
    line += rng.choice(LOOP_HEADS)
    for number in range(rng.choice((1, 1, 2, 3))):
        line += _joint(rng) if number else ""
        line += rng.choice(NAMES)
        for _ in range(rng.randint(0, 3)):
            line += rng.choice(BLANKS)
            line += rng.choice(LOOP_VALUES) if rng.random() < 0.6 else _piece(rng)
        line += rng.choice(("", "", "", " 2>/dev/null", " 2>&1"))
    return line + rng.choice(LOOP_ENDS[:9] if rng.random() < 0.7 else LOOP_ENDS)


def _joint(rng: Random) -> str:
    return rng.choice(BREAKS if rng.random() < 0.2 else OPERATORS)


def _command(rng: Random) -> str:
    """Draw a name, its words, and sometimes where its streams go."""
    if rng.random() < 0.08:
        return _printed(rng)
    line = rng.choice(NAMES)
    for _ in range(rng.randint(0, 3)):
        line += rng.choice(BLANKS)
        if rng.random() < 0.12:
            line += rng.choice(ALONE)
        else:
            line += "".join(_piece(rng) for _ in range(rng.choice((1, 1, 1, 2, 3))))
    if rng.random() < 0.12:
        line += rng.choice((*BLANKS, "")) + rng.choice(ROUTES)
    return line


def _printed(rng: Random) -> str:
    """Draw a program that prints how the one before it ended."""
    line = rng.choice(PRINTERS)
    for _ in range(rng.choice((1, 1, 2))):
        line += rng.choice(BLANKS)
        line += rng.choice(STATUSES[:20] if rng.random() < 0.8 else STATUSES)
        line += _piece(rng) if rng.random() < 0.1 else ""
    return line + (" 2>&1" if rng.random() < 0.1 else "")


def _mutated(rng: Random, line: str) -> str:
    """Insert up to three hostile pieces into a line, or cut some of it out."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randint(0, len(line))
        piece = rng.choice(NASTY) if rng.random() < 0.8 else ""
        line = line[:at] + piece + line[at + rng.choice((0, 0, 0, 1, 2)) :]
    return line


def draw_line(rng: Random) -> str:
    """Draw any line: built, mutated, taken from the corpus, or a soup of tokens."""
    kind = rng.random()
    if kind < 0.03:
        return rng.choice(SHELL_WORDS) + _built(rng)
    if kind < 0.52:
        built = _looped(rng) if kind < 0.16 else _built(rng)
        return _mutated(rng, built) if kind < 0.06 else built
    if kind < 0.72:
        return _mutated(rng, _built(rng))
    if kind < 0.9:
        return _mutated(rng, rng.choice(_seed_lines()))
    return _some(rng, (*NAMES, *PLAIN, *NASTY, *BLANKS), 9)
