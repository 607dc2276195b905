"""What the words of a wrapper say by themselves: where its command is, or that it has a shell."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from core.planning.code.interpreters import (
    SHELL,
    Interpreter,
    Reader,
    interpreter_of,
    is_wrapper,
)
from core.planning.code.shell_words import shell_words
from core.programs.carriers import is_known
from core.programs.wrapper_grammar import Start, find_command, grammars
from core.shell.unread_commands import UNCERTAIN

_SPREADING: Final = re.compile(r"g?xargs|parallel|sem")
"""Programs that make words for another of their input."""

_SHELL_WITHOUT_COMMAND: Final = re.compile(
    r"su|runuser|newgrp|sg|chroot|unshare|nsenter|fakeroot|script|schroot|proot|ssh|machinectl"
)
_CHANGES_USER: Final = frozenset(("su", "runuser", "chroot", "unshare", "nsenter"))
_SHELL_BY_OPTION: Final = re.compile(r"sudo|doas|run0")
_ASKS_FOR_SHELL: Final = re.compile(r"-[A-Za-z]*[si]|--shell|--login")
_SSH_VALUE: Final = re.compile(r"-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]")

_FINDS: Final = frozenset(("find", "gfind"))
_FIND_RUNS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_SPLITS: Final = re.compile(r"(?:-[A-Za-z]*?S|--s[a-z-]*=?)(.*)", re.DOTALL)
"""The option of ``env`` whose value has words in it, alone or with the value."""

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_ESCAPED_BLANK: Final = re.compile(r"\\[_tnfvr]")


def commands_in(argv: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the commands that a wrapper starts, where its words are understood."""
    name = argv[0].rpartition("/")[2]
    if name in _FINDS:
        runs = [place for place, word in enumerate(argv) if word in _FIND_RUNS]
        for place, end in pairwise((*runs, len(argv))):
            yield argv[place + 1 : end]
        return
    grammar = grammars().get(name)
    start = None if grammar is None else find_command(grammar, argv)
    if isinstance(start, Start):
        yield argv[start.at :]


def starts_unknown(argv: Sequence[str]) -> bool:
    """Return whether a word that is not certain may be the command of a wrapper."""
    if not any(UNCERTAIN in word for word in argv) or argv[0].rpartition("/")[2] in _FINDS:
        return False
    for before, word in pairwise(argv):
        if word[:1] == "-" or _ASSIGNMENT.match(word):
            continue
        if UNCERTAIN in word.rpartition("/")[2]:
            return True
        # What follows an option may be its value, though a program has that name.
        if before[:1] != "-" and is_known(word):
            return False
    return False


def split_text(argv: Sequence[str]) -> str | None:
    """Return the text that ``env -S`` makes words of, with what follows; ``None`` without one."""
    if argv[0].rpartition("/")[2] not in {"env", "genv"}:
        return None
    for place, word in enumerate(argv[1:], 1):
        found = _SPLITS.fullmatch(word)
        if found is not None:
            return _ESCAPED_BLANK.sub(" ", " ".join((found[1], *argv[place + 1 :])))
    return None


def spreads_code(argv: Sequence[str]) -> bool:
    """Return whether words that a program makes of its input choose what it runs."""
    return _SPREADING.fullmatch(argv[0].rpartition("/")[2]) is not None and _makes_code(argv)


def _makes_code(argv: Sequence[str]) -> bool:
    last = argv[-1]
    at = next((place for place, word in enumerate(argv) if place and interpreter_of(word)), 0)
    if at == 0:
        runs_lines = argv[0].endswith(("parallel", "sem"))
        return (len(argv) > 1 and is_wrapper(last)) or (
            runs_lines and all(word[:1] == "-" for word in argv[1:])
        )
    inner = interpreter_of(argv[at])
    if at == len(argv) - 1 or _waits_for_code(inner, argv[at + 1 :]):
        return True
    options = tuple(pairwise(argv[: at + 1]))
    replaced = {"{}", *(word for option, word in options if option == "-I")}
    replaced |= {word[2:] for word in argv[1:at] if word.startswith("-I")} - {""}
    return any(one in word for word in argv[at:] for one in replaced)


def _waits_for_code(reader: Interpreter | Reader | None, words: Sequence[str]) -> bool:
    """Return whether the next word would be code."""
    if reader is SHELL:
        found = shell_words(tuple(words))
        return not found.rest and not found.texts and not any(one.sure for one in found.scripts)
    return isinstance(reader, Interpreter) and any(map(reader.inline.fullmatch, words[-1:]))


def starts_shell(argv: Sequence[str]) -> bool:
    """Return whether a wrapper starts a shell of its own, which reads its input."""
    name = argv[0].rpartition("/")[2]
    if _SHELL_BY_OPTION.fullmatch(name) and any(map(_ASKS_FOR_SHELL.fullmatch, argv[1:])):
        return True
    return any(
        _SHELL_WITHOUT_COMMAND.fullmatch(word.rpartition("/")[2])
        and _has_no_command(word.rpartition("/")[2], islice(argv, place + 1, None))
        for place, word in enumerate(argv)
        if place == 0 or word in _CHANGES_USER
    )


def _has_no_command(name: str, words: Iterable[str]) -> bool:
    plain, skipped = 0, False
    for word in words:
        if word in {"-c", "--command"}:
            return False
        if skipped:
            skipped = False
        elif word.startswith("-") and word != "-":
            skipped = name == "ssh" and _SSH_VALUE.fullmatch(word) is not None
        else:
            plain += word != "-"
            if plain > 1:
                return False  # of a long line no more is read
    return True
