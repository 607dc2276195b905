"""Decide whether an interpreter runs code from its input, or code with a variable's value in it."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import islice, pairwise, zip_longest
from typing import Final

from core.planning.code.words.interpreters import Interpreter
from core.planning.code.words.option_files import Reader
from core.planning.code.words.parts import is_input
from core.programs.profiles import tables
from core.shell.unread_commands import UNCERTAIN

_CODE_NEXT: Final = frozenset(("-e", "--expression", "--source"))
_PROMPTS: Final = re.compile(r"-[A-Za-z]*m(.*)", re.DOTALL)
_PROMPTING: Final = frozenset(("code", "asyncio", "pdb", "IPython"))
"""Modules of Python that run what they read, after the option that runs a module."""

_RUNS_MODULES: Final = frozenset(("runpy", "cProfile", "profile", "trace"))
_MOST_READ: Final = 64
_DATA_NEXT: Final = frozenset(("-v", "--assign", "-F", "--field-separator", "-l"))


def starts_console(argv: Sequence[str]) -> bool:
    """Return whether words start a console, perhaps of a project, which runs what it reads."""
    words = tuple(islice(argv, _MOST_READ))
    if _consoles().search("\0".join(("", *words, ""))):
        return True
    operands = sum(word[:1] != "-" for word in words[1:])
    most = _most_operands(words[0].rpartition("/")[2])
    return operands <= most and not any(map(_given_code().fullmatch, words[1:]))


@cache
def _consoles() -> re.Pattern[str]:
    patterns = tables.words(tables.table("interpreters"), "consoles")
    return re.compile("|".join(patterns).replace("<options>", r"(?:-[^\0]+\0)*"))


@cache
def _talking() -> tables.Table:
    return tables.section(tables.table("interpreters"), "talking")


@cache
def _given_code() -> re.Pattern[str]:
    return re.compile(str(_talking()["given"]))


@lru_cache(maxsize=1024)
def _most_operands(name: str) -> int:
    """Return with how many operands at most a program runs what it reads, -1 if it never does."""
    counts = _talking().keys() - {"given"}
    return next((int(one) for one in counts if name in tables.words(_talking(), one)), -1)


def takes_input(reader: Interpreter | Reader, words: Sequence[str]) -> bool:
    """Return whether an interpreter other than a shell takes code from its input."""
    if isinstance(reader, Reader):
        if any(map(reader.asks.fullmatch, words)):
            return True
        return (
            reader.fed
            and not any(map(reader.inline.fullmatch, words))
            and (not reader.operands or _plain(reader, words) < reader.operands)
        )
    taken = False
    for word, following in zip_longest(words, words[1:]):
        if is_input(word) or reader.fed.fullmatch(word):
            return True
        if reader.inline.match(word):
            return _lacks_code(reader, word, following, words)
        if word[:1] == "-":
            taken = word != "--" and reader.alone.fullmatch(word) is None
        elif not taken and word not in reader.verbs:
            return False
        else:
            taken = False
    return True


def _lacks_code(
    reader: Interpreter, option: str, following: str | None, words: Sequence[str]
) -> bool:
    """Return whether an option that takes code has none, as in `node -p < notes`.

    It is also true of a module that runs its input: `python3 -m code < notes`.
    """
    found = _PROMPTS.fullmatch(option) if reader.modules else None
    if found is not None:
        module = found[1] or following
        return module in _PROMPTING or (
            module in _RUNS_MODULES and not _PROMPTING.isdisjoint(words)
        )
    if reader.inline.fullmatch(option) is None:
        return False
    return following is None or (bool(reader.verbs) and following[:1] == "-")


def _plain(reader: Reader, words: Sequence[str]) -> int:
    """Return how many words are certainly operands."""
    return sum(
        word[:1] != "-" and (before[:1] != "-" or reader.alone.fullmatch(before) is not None)
        for before, word in pairwise(("", *words))
    )


def inserts(reader: Interpreter | Reader, words: Sequence[str]) -> bool:
    """Return whether code among the words contains something that a shell fills in."""
    if not any(UNCERTAIN in word for word in words):
        return False
    if isinstance(reader, Interpreter):
        code = (one + after for one, after in pairwise((*words, "")) if reader.inline.match(one))
        return any(UNCERTAIN in one for one in code)
    return _in_program(words) if reader.program else True


def _in_program(words: Sequence[str]) -> bool:
    """Return the same for a program whose code is the first operand, or the word after ``-e``."""
    before, seen = "", False
    for word in words:
        code = word[:1] == "-" or before in _CODE_NEXT or not (seen or before in _DATA_NEXT)
        if code and word[:2] not in _DATA_NEXT and UNCERTAIN in word:
            return True
        seen = seen or (word[:1] != "-" and before not in _CODE_NEXT | _DATA_NEXT)
        before = word
    return False
