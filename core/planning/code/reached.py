"""Find what becomes code beyond the words of an interpreter: by its input, or in an unread text.

Whatever is said here is bound, never allowed. A text is only guessed at: where any of it takes
code from its input, everything that it names may be that code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from core.planning.code.arguments import read_by
from core.planning.code.interpreters import (
    SHELL,
    Interpreter,
    Reader,
    interpreter_of,
    is_wrapper,
)
from core.planning.code.shell_words import shell_words
from core.planning.code.words import ENDS_OF_WORDS
from core.programs.wrappers import is_shell, names_of
from core.shell.unread_commands import UNCERTAIN, Fragment, cut

DEEPEST_TEXT: Final = 4
"""Texts within texts; what is deeper counts as taking code."""

_LONGEST_TEXT: Final = 65_536
_INPUT_NAMES: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_BLANKS: Final = re.compile(r"[\s;|&<>()`$]")
_GLOBS: Final = re.compile(r"[*?\[{]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_STARTUP: Final = re.compile(r"(?:BASH_ENV|ENV)=(.+)", re.DOTALL)
_BEFORE_A_COMMAND: Final = frozenset(
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{", "time", "coproc")
)
_ODD_NAMES: Final = frozenset(("[", "[[", "{", "}"))
_LISTS: Final = frozenset(("for", "select", "case", "function", "read", "export", "[", "[["))
"""What a shell does by itself with the words behind these starts none of them."""

_FED: Final = re.compile(r"at|batch|R|octave|irb|ipython[0-9.]*|jshell|ghci|erl|iex|ed|ex")
"""Programs that take code from their input, whatever their words are."""

_ELSEWHERE: Final = re.compile(r"ssh|docker|podman|nerdctl|kubectl|oc|lxc|incus")
"""Programs that start others on another machine: their words name no file of this one."""

_SPREADING: Final = re.compile(r"g?xargs|parallel|sem")
"""Programs that make words for another of their input."""

_SHELL_WITHOUT_COMMAND: Final = re.compile(
    r"su|runuser|newgrp|sg|chroot|unshare|nsenter|fakeroot|script|schroot|proot|ssh|machinectl"
)
_CHANGES_USER: Final = frozenset(("su", "runuser", "chroot", "unshare", "nsenter"))
_SHELL_BY_OPTION: Final = re.compile(r"sudo|doas|run0")
_ASKS_FOR_SHELL: Final = re.compile(r"-[A-Za-z]*[si]|--shell|--login")
_SSH_VALUE: Final = re.compile(r"-[A-Za-z]*[BbcDEeFIiJLlmOopQRSWw]")


@dataclass(frozen=True, slots=True)
class Reached:
    """``paths`` may be code whatever they look like; so are ``named`` where input ``takes`` part.

    ``outputs`` are what is only written to.
    """

    paths: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    takes: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Return the words that may name code."""
        if not self.takes:
            return tuple(dict.fromkeys(self.paths))
        written = set(self.outputs) - set(self.paths)
        pieces = (piece for word in self.named for piece in pieces_of(word))
        return tuple(dict.fromkeys((*self.paths, *(one for one in pieces if one not in written))))


NOTHING: Final = Reached()
_TAKES: Final = Reached(takes=True)


def _joined(parts: Iterable[Reached]) -> Reached:
    found = [one for one in parts if one is not NOTHING]
    if len(found) < 2:  # noqa: PLR2004 - nothing to join
        return found[0] if found else NOTHING
    return Reached(
        tuple(word for one in found for word in one.paths),
        tuple(word for one in found for word in one.named),
        tuple(word for one in found for word in one.outputs),
        any(one.takes for one in found),
    )


def by_vector(argv: Sequence[str], realpath: str, depth: int = 0) -> Reached:
    """Return what a vector makes code of; ``takes``: its input as well."""
    name = argv[0].rpartition("/")[2]
    reader = interpreter_of(argv[0]) or interpreter_of(realpath)
    if reader is None and is_shell(names_of(argv[0]) | names_of(realpath)):
        reader = SHELL
    if reader is not None:
        return _by_interpreter(reader, argv[1:], depth)
    if _FED.fullmatch(name) or name == "crontab":
        return _by_schedule(name, argv[1:])
    if _ELSEWHERE.fullmatch(name):
        return Reached(takes=_by_wrapper(argv, depth).takes)
    return _by_wrapper(argv, depth) if is_wrapper(argv[0]) or is_wrapper(realpath) else NOTHING


def by_text(text: str, values: Mapping[str, str] | None = None, depth: int = 0) -> Reached:
    """Return what a text that a shell gets makes code of; ``values`` are known variables."""
    text = text[:_LONGEST_TEXT]
    if depth > DEEPEST_TEXT:
        return Reached(named=(text,), takes=True)
    found = cut(text, values)
    within = (by_text(one, values, depth + 1) for one in found.within)
    parts = [_by_fragment(one, depth) for one in found.fragments]
    named = list(found.data)
    for one, part in zip(found.fragments, parts, strict=True):
        named += one.inputs if _is_only_fed(one, part, text) else (*one.words, *one.inputs)
    outputs = tuple(word for one in found.fragments for word in one.outputs)
    return _joined((Reached(named=tuple(dict.fromkeys(named)), outputs=outputs), *parts, *within))


def pieces_of(word: str) -> Iterator[str]:
    """Yield what of a word may name a file: all of it, its parts, what follows a variable."""
    if UNCERTAIN not in word:
        yield word.removeprefix("file://")
    for piece in ENDS_OF_WORDS.split(word.replace(UNCERTAIN, " ")):
        if piece and piece != word:
            yield piece
            if UNCERTAIN in word and piece[0] == "/":
                yield piece.lstrip("/")


def _is_only_fed(fragment: Fragment, part: Reached, text: str) -> bool:
    """Return whether a command's words are data beside its code: ``bash -s data < notes``."""
    words = fragment.words
    return bool(words) and part.takes and "|" not in text and interpreter_of(words[0]) is not None


def _by_fragment(fragment: Fragment, depth: int) -> Reached:
    words = list(fragment.words)
    startup = [one[1] for word in words if (one := _STARTUP.fullmatch(word))]
    while words and (words[0] in _BEFORE_A_COMMAND or _ASSIGNMENT.fullmatch(words[0])):
        del words[0]
    if words and words[0] in _LISTS:
        words = []
    found = _by_command(words, depth) if words else NOTHING
    # A text that is given by `<<<` is read as one.
    given = (by_text(one, None, depth + 1) for one in fragment.inputs if _BLANKS.search(one))
    return _joined((found, Reached(paths=tuple(startup)) if startup else NOTHING, *given))


def _by_command(words: list[str], depth: int) -> Reached:
    name, *rest = words
    last = name.rpartition("/")[2]
    if not last or UNCERTAIN in last or (_GLOBS.search(last) and last not in _ODD_NAMES):
        return Reached(paths=tuple(pieces_of(name)), takes=True)
    if name in {".", "source"}:
        return _read_from(rest[:1])
    if name == "eval":
        text = " ".join(rest)
        return _joined((by_text(text, None, depth + 1), _TAKES if UNCERTAIN in text else NOTHING))
    return by_vector(words, name, depth)


def _read_from(words: Sequence[str]) -> Reached:
    """Return what a word makes code that names a script."""
    takes = any(word in _INPUT_NAMES or not word.strip(UNCERTAIN) for word in words)
    return Reached(tuple(piece for word in words for piece in _tail(word)), takes=takes)


def _tail(word: str) -> Iterator[str]:
    """Yield a word, or of one that is not certain what it may end in."""
    if UNCERTAIN not in word:
        yield word
    else:
        yield from pieces_of(word)


def _by_interpreter(reader: Interpreter | Reader, words: Sequence[str], depth: int) -> Reached:
    if reader is SHELL:
        return _by_shell(words, depth)
    code = [word.path for word in read_by(reader, words)]
    found = _read_from(code) if code else NOTHING
    if isinstance(reader, Reader):
        plain = reader.fed and not any(reader.inline.fullmatch(word) for word in words)
        return _joined((found, _TAKES if plain else NOTHING))
    return _joined((found, _by_input(reader, words)))


def _by_shell(words: Sequence[str], depth: int) -> Reached:
    """Return what a shell's words make code of; there the words of a text are no others'."""
    found = shell_words(words)
    texts = [_within(by_text(one, None, depth + 1)) for one in found.texts]
    code = _read_from([one.path for one in found.scripts])
    return _joined((code, _TAKES if found.fed else NOTHING, *texts))


def _by_input(reader: Interpreter, words: Sequence[str]) -> Reached:
    """Return whether an interpreter takes code from its input."""
    taken = False
    for word in words:
        if word in _INPUT_NAMES or reader.fed.fullmatch(word):
            return _TAKES
        if reader.inline.match(word):
            return NOTHING
        if word[:1] == "-":
            taken = word != "--" and reader.alone.fullmatch(word) is None
        elif not taken and word not in reader.verbs:
            return NOTHING
        else:
            taken = False
    return _TAKES


def _within(text: Reached) -> Reached:
    """Return what a text in one word makes code of; its words are no others'."""
    return Reached(paths=text.files, takes=text.takes)


def _by_schedule(name: str, words: Sequence[str]) -> Reached:
    operands = [word for word in words if not word.startswith("-")]
    if name == "crontab":
        return Reached(tuple(operands), takes=not operands or "-" in words)
    after = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-f"]
    return Reached(tuple(after), takes=True)


def _by_wrapper(argv: Sequence[str], depth: int) -> Reached:
    """Return what the words of a wrapper do: texts in them, and interpreters behind it."""
    if depth > DEEPEST_TEXT:
        return _TAKES
    texts = [_within(by_text(word, None, depth + 1)) for word in argv[1:] if _BLANKS.search(word)]
    startup = tuple(one[1] for word in argv if (one := _STARTUP.fullmatch(word)))
    own = Reached(startup, takes=_starts_shell(argv))
    return _joined((own, *texts, *_started(argv, depth)))


def _started(argv: Sequence[str], depth: int) -> Iterator[Reached]:
    """Yield what each interpreter behind a wrapper makes code of: `sudo -u sh bash x`."""
    name = argv[0].rpartition("/")[2]
    finds = name in {"find", "gfind"}
    for place, word in enumerate(argv[1:], 2):
        inner = interpreter_of(word)
        if inner is not None:
            end = argv.index(";", place) if finds and ";" in argv[place:] else len(argv)
            yield _by_interpreter(inner, argv[place:end], depth)
    if _SPREADING.fullmatch(name) and _makes_code(argv):
        yield Reached(paths=tuple(argv[1:]), takes=True)


def _makes_code(argv: Sequence[str]) -> bool:
    """Return whether words that are made of input choose what runs."""
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
        found = shell_words(words)
        return not found.rest and not found.texts and not any(one.sure for one in found.scripts)
    return isinstance(reader, Interpreter) and any(map(reader.inline.fullmatch, words[-1:]))


def _starts_shell(argv: Sequence[str]) -> bool:
    """Return whether a wrapper starts a shell of its own, which reads its input."""
    name = argv[0].rpartition("/")[2]
    if _SHELL_BY_OPTION.fullmatch(name) and any(map(_ASKS_FOR_SHELL.fullmatch, argv[1:])):
        return True
    return any(
        _SHELL_WITHOUT_COMMAND.fullmatch(word.rpartition("/")[2])
        and _has_no_command(word.rpartition("/")[2], argv[place + 1 :])
        for place, word in enumerate(argv)
        if place == 0 or word in _CHANGES_USER
    )


def _has_no_command(name: str, words: Sequence[str]) -> bool:
    plain, skipped = 0, False
    for word in words:
        if skipped:
            skipped = False
        elif word.startswith("-") and word != "-":
            skipped = name == "ssh" and _SSH_VALUE.fullmatch(word) is not None
        else:
            plain += word != "-"
    return plain <= 1 and not any(word in {"-c", "--command"} for word in words)
