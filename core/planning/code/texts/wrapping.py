"""Read the words of a wrapper: where its command begins, and whether it starts a shell."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import dropwhile, islice, pairwise, takewhile
from typing import Final

from core.planning.code.words.interpreters import (
    CMAKE,
    CTEST,
    GDB,
    Interpreter,
    is_find,
    is_wrapper,
)
from core.planning.code.words.option_files import Reader
from core.programs.carriers import is_known
from core.programs.inline_code import is_starter
from core.programs.wrapper_grammar import Start, find_command, grammars
from core.programs.wrappers import is_builtin
from core.shell.unread_commands import UNCERTAIN

_OF_A_USER: Final = frozenset(("su", "runuser", "newgrp", "sg"))
_SHELL_WITHOUT_COMMAND: Final = re.compile(
    r"su|runuser|newgrp|sg|chroot|unshare|nsenter|fakeroot|script|d?schroot|proot|ssh|machinectl"
    r"|setarch|arch-chroot|toolbox|distrobox"
)
"""Wrappers that start a shell if they are given at most one word."""

_NEEDS_COMMAND: Final = re.compile(
    r"env|find|xargs|time|sudo|doas|run0|parallel|sem|watch|exec|command|builtin|batch|at|crontab"
)
"""Wrappers that start no shell if no command is given, or that are checked separately."""

_CHANGES_USER: Final = frozenset(("su", "runuser", "chroot", "unshare", "nsenter", "setarch"))
_SHELL_BY_OPTION: Final = {
    **dict.fromkeys(("sudo", "doas", "run0"), re.compile(r"-[^-CDghpRrTtUua]*[si]|--(?:sh|lo)")),
    **dict.fromkeys(("systemd-run", "torsocks"), re.compile(r"-[^-EMpuH]*S|--sh")),
}
_VALUE_NEXT: Final = re.compile(r"-[^-]*[CDghpRrTtUuaEM]|--[a-z-]+")
_TEXT_NEXT: Final = re.compile(r"-[A-Za-z]*c|--(?:session-)?c[a-z]*")
_TEXT_HELD: Final = re.compile(r"(?:-[A-Za-z]*?c|--(?:session-)?c[a-z]*=)(.+)", re.DOTALL)
"""The option that takes a text for a shell, as most programs spell it."""

_WITH_TEXT: Final = frozenset((*_OF_A_USER, "script"))
_WITH_WORDS: Final = frozenset(("su", "runuser"))
_SU_VALUE: Final = re.compile(r"-[A-Za-z]*[cCgGswT]|--(?:comm|sess|gr|supp|sh|wh)[a-z-]*")
_USER_OPTION: Final = re.compile(r"-[flmpP]*u|--u")
"""Options of `su` and `runuser` that take a word, and the one that a command follows."""

_MOST_READ: Final = 64
_SSH_VALUE: Final = re.compile(r"-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]")

_ELSEWHERE: Final = re.compile(
    r"ssh|(?:docker|podman)(?:-compose)?|nerdctl|crictl|ctr|kubectl|oc|lxc|incus"
)

_FIND_RUNS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_OF_FIND: Final = re.compile(r"-[DHLP]|-O.*|--")
_NAMED_TO_FIND: Final = re.compile(r"-files0-from|-i?(?:l?name|path|wholename|regex)")
"""The tests of `find` that a name follows, and the option that a list of paths follows."""

_STARTS_OF_CMAKE: Final = frozenset(("env", "time", "chdir", "__run_co_compile"))
_BEHIND: Final = re.compile(r"--(?:test-command|launch)|--?args")
"""The words of ctest and gdb behind which a command follows."""

_SPLITS: Final = re.compile(r"(?:-[A-Za-z]*?S|--s[a-z-]*=?)(.*)", re.DOTALL)
"""The option of ``env`` that splits its value into words, alone or with the value."""

_MESSAGES: Final = frozenset(("-m", "--message", "-am"))
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_ESCAPED_BLANK: Final = re.compile(r"\\[_tnfvr]")


def runs_elsewhere(path: str) -> bool:
    """Return whether a program starts others on another machine or in a container.

    Their words name no file of this one.
    """
    return _ELSEWHERE.fullmatch(path.rpartition("/")[2]) is not None


def commands_in(argv: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words of each command that a wrapper starts.

    If its grammar is unknown, that is only a `find` among them.
    """
    if is_find(argv[0]):
        runs = [place for place, word in enumerate(argv) if word in _FIND_RUNS]
        for place, end in pairwise((*runs, len(argv))):
            yield argv[place + 1 : end]
        return
    grammar = grammars().get(argv[0].rpartition("/")[2])
    if grammar is None:
        finds = (place for place, word in enumerate(argv) if is_find(word))
        yield from (argv[place:] for place in islice(finds, 1))
        return
    start = find_command(grammar, argv)
    if isinstance(start, Start):
        yield argv[start.at :]


def command_of_build(reader: Interpreter | Reader, argv: Sequence[str]) -> Sequence[str]:
    """Return the words of cmake, ctest or gdb from the one that a command follows, or ``()``."""
    if reader is CMAKE and argv[1:2] and argv[1] == "-E" and argv[2:3]:
        return argv[2:] if argv[2] in _STARTS_OF_CMAKE else ()
    if reader in {CTEST, GDB}:
        at = next((at for at, word in enumerate(argv) if _BEHIND.fullmatch(word)), len(argv))
        return argv[at:]
    return ()


def looked_through(argv: Sequence[str]) -> Iterator[str]:
    """Yield the paths at which `find` starts, the files that list them, and what it may find there.

    What it finds further below is not looked for.
    """
    starts = list(takewhile(_is_start, dropwhile(_OF_FIND.fullmatch, argv[1:])))
    named = [word for before, word in pairwise(argv) if _NAMED_TO_FIND.fullmatch(before)]
    yield from (*starts, *named)
    yield from (other for word in named for other in (word.lower(), word.upper()) if other != word)
    if not named:
        yield from (f"{start}/*" for start in starts or ["."])


def _is_start(word: str) -> bool:
    """Return whether one of the first words of `find` is a path at which it starts."""
    return word[:1] not in {"-", "(", "!"}


def starts_unknown(argv: Sequence[str]) -> bool:
    """Return whether a wrapper's command may be a word that is not certain, such as `$x`."""
    if not any(UNCERTAIN in word for word in argv) or is_find(argv[0]):
        return False
    for before, word in pairwise(argv):
        if word[:1] == "-" or _ASSIGNMENT.match(word):
            continue
        if UNCERTAIN in word.rpartition("/")[2]:
            return True
        # A word after an option may be its value, even if a program has that name.
        if before[:1] != "-" and is_known(word):
            return False
    return False


def split_text(argv: Sequence[str]) -> str | None:
    """Return the text that ``env -S`` splits, and the words after it; ``None`` without ``-S``."""
    if argv[0].rpartition("/")[2] not in {"env", "genv"}:
        return None
    for place, word in enumerate(argv[1:], 1):
        found = _SPLITS.fullmatch(word)
        if found is not None:
            return _ESCAPED_BLANK.sub(" ", " ".join((found[1], *argv[place + 1 :])))
    return None


def option_words(argv: Sequence[str]) -> Iterator[str]:
    """Yield the words that may name a program: no message's, and only the options of `ssh`."""
    elsewhere = runs_elsewhere(argv[0])
    for before, word in pairwise(argv):
        if before not in _MESSAGES and not (elsewhere and "-" not in {before[:1], word[:1]}):
            yield word


def option_texts(argv: Sequence[str]) -> Iterator[str]:
    """Yield the texts that options pass to a shell, even those of one word: `su -c sh`."""
    for before, word in pairwise(argv):
        found = _TEXT_HELD.fullmatch(word)
        if found is not None:
            yield found[1]
        if _TEXT_NEXT.fullmatch(before):
            yield word


def shelled_words(argv: Sequence[str]) -> Sequence[str] | None:
    """Return the words that `capsh` and `su USER` pass to a shell, ``None`` if they pass none."""
    if argv[0].rpartition("/")[2] in _WITH_WORDS:
        return _behind_user(argv)
    names = [word.rpartition("/")[2] for word in argv]
    if "capsh" not in names:
        return None
    behind = range(names.index("capsh") + 1, len(argv))
    return next((argv[place + 1 :] for place in behind if argv[place] in {"--", "=="}), None)


def _behind_user(argv: Sequence[str]) -> Sequence[str] | None:
    """Return the words after the user's name; up to ``--``, options are the program's own."""
    plain: list[str] = []
    for place, (before, word) in enumerate(pairwise(argv), 1):
        if word == "--":
            plain += argv[place + 1 :]
            break
        if _USER_OPTION.match(word):
            return None  # a command follows, and no shell's words
        if word[:1] != "-" and not _SU_VALUE.fullmatch(before):
            plain.append(word)
    return plain[1:] or None


def certain(words: Sequence[str]) -> Iterator[str]:
    """Yield the words that are certainly neither an option nor the value of one."""
    ended = False
    for before, word in pairwise(("", *words)):
        ended = ended or before == "--"
        plain = ended or word == "-" or word[:1] != "-"
        if plain and word != "-" and (ended or before == "-" or before[:1] != "-" or "=" in before):
            yield word


def starts_shell(argv: Sequence[str]) -> bool:
    """Return whether a wrapper starts a shell itself, which reads the wrapper's input.

    The same is true of a program that starts others if its script is `-`: `uv run -`.
    """
    if "-" in argv and is_starter(argv[0]):
        return True
    name = argv[0].rpartition("/")[2]
    asks = _SHELL_BY_OPTION.get(name)
    if asks is not None and any(map(asks.match, _own_options(argv))):
        return True
    if all(word[:1] == "-" for word in argv[1:]) and _may_be_alone(name):
        return True
    return any(
        _SHELL_WITHOUT_COMMAND.fullmatch(word.rpartition("/")[2])
        and _has_no_command(word.rpartition("/")[2], islice(argv, place + 1, None))
        for place, word in enumerate(argv)
        if place == 0 or word in _CHANGES_USER
    )


def _may_be_alone(name: str) -> bool:
    return not (is_builtin(name) or _NEEDS_COMMAND.fullmatch(name))


def _own_options(argv: Sequence[str]) -> Iterator[str]:
    """Yield the options of a program, up to the command that it starts."""
    for before, word in pairwise(argv):
        if word[:1] == "-":
            yield word
        elif "=" not in word and _VALUE_NEXT.fullmatch(before) is None:
            return


def _has_no_command(name: str, behind: Iterable[str]) -> bool:
    words = tuple(islice(behind, _MOST_READ))
    if name == "ssh":
        return len(_ssh_operands(words)) <= 1
    texts = (_TEXT_NEXT.fullmatch(word) or _TEXT_HELD.fullmatch(word) for word in words)
    if name in _WITH_TEXT and any(texts):
        return False
    if name not in _OF_A_USER and any(
        is_known(word) and not is_wrapper(word) for word in words if word[:1] != "-"
    ):
        return False
    return len(tuple(islice(certain(words), 2))) <= 1


def _ssh_operands(words: Sequence[str]) -> list[str]:
    plain: list[str] = []
    skipped = False
    for word in words:
        if skipped:
            skipped = False
        elif word.startswith("-") and word != "-":
            skipped = _SSH_VALUE.fullmatch(word) is not None
        else:
            plain.append(word)
    return plain
