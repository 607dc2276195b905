"""Find secrets by their shape, so that no outbound text carries one.

A masked span is a place where an approver does not see what runs, so a span can only hold
characters that a shell takes as they are: no blank, quote, substitution, separator or glob, and no
call of Perl or Ruby. What could be code stays visible, even where that leaves the end of an odd
passphrase visible too.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_letters, digits, whitespace

from core.shell.unread_commands import cut
from core.text.readings import readings
from core.text.secret_names import WORD
from core.text.secret_patterns import DOLLAR, PLAIN, matches, suspects

# Possessive where what follows begins with no blank: a failure then costs no second look.
_BLANKS = r"(?:\s++|\\[nr])+"
_KEY_LINE = r"(?:[A-Za-z0-9+/]{16,}={0,2}|=?[A-Za-z0-9+/]{1,15}={1,2})"
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?P<body>(?:{_BLANKS}(?:Proc-Type|DEK-Info|Version|Comment): [\w,. -]{{1,200}}){{0,8}}"
    rf"(?:{_BLANKS}{_KEY_LINE})+)"
)
_PEM_HEAD = re.compile("-----BEGIN ")
_PEM_LINE = re.compile(rf"(?:(?<=\s)|(?<=\\[nr])){_KEY_LINE}")
_CALL = re.compile(
    r"(?:d(?<!\wd)o|e(?<!\we)(?:val|valbytes|xec)|k(?<!\wk)ill|l(?<!\wl)oad|o(?<!\wo)pen"
    r"|r(?<!\wr)(?:eadpipe|ename|equire|mdir)|s(?<!\ws)(?:ymlink|yscall|ystem)"
    r"|t(?<!\wt)runcate|u(?<!\wu)nlink)[+~!]|%x[^\w\s]"
)
"""A call of Perl or Ruby, which needs none of the characters that a span may not hold."""
_ALIAS = re.compile(r"(?<![^\s;&|({'\"])alias[ \t][^\n;&|]*|alias\.[\w-]*")
"""Where what follows a name and ``=`` is a command: of a shell, and of git."""
_OPTION = re.compile(r"-[\w-]*")
_ENDS_AS_SECRET = re.compile(rf"(?i:{WORD})\Z")
_TAKES_CODE = re.compile(r"-\w*c")
_OF_A_PATH = f"{ascii_letters}{digits}._@+~/-"
_BEFORE_A_PATH = f"{whitespace}'\"`;|&<>(){{}}="
_LONGEST_PATH = 4_096
_NAMED = "secret"
_LONGEST_WORD = len("secret_key_base")
_WHOLE_VALUE = re.compile(rf"(?!-)(?:{PLAIN}++|{DOLLAR})+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: open where ``kind`` is empty, otherwise a secret of that kind."""

    text: str
    kind: str = ""


def mark(kind: str) -> str:
    """Return what replaces a secret of ``kind``."""
    return f"[secret: {kind}]"


def pieces(text: str, *, code: bool = False, word: bool = False) -> Iterator[Piece]:
    """Cut ``text`` into open stretches and secrets; joined again they are ``text``.

    In ``code`` for a shell, a line that it would run is open, even in what looks like a key; there
    and in a ``word`` of a command, so is the name of a file.
    """
    end = 0
    for begin, stop, kind in _spans(text, code=code, word=word):
        start = max(begin, end)
        if start >= stop:
            continue
        if start > end:
            yield Piece(text[end:start])
        yield Piece(text[start:stop], kind)
        end = stop
    if end < len(text):
        yield Piece(text[end:])


def argument_pieces(argument: str, before: str = "") -> tuple[Piece, ...]:
    """Cut one element of an argument vector; ``before`` is the element before it.

    Elements know their own bounds, so the value of ``--password VALUE`` is found without quotes.
    """
    if _takes_secret(before) and _WHOLE_VALUE.fullmatch(argument):
        return (Piece(argument, _NAMED),)
    return tuple(pieces(argument, code=_TAKES_CODE.fullmatch(before) is not None, word=True))


def vector_pieces(argv: tuple[str, ...]) -> Iterator[tuple[Piece, ...]]:
    """Cut each element of a vector as ``argument_pieces`` does, with one look at all of them.

    Between two line feeds an element matches what it matches alone, so only those in which the
    whole has a suspect need a look of their own.
    """
    suspected = _suspected(argv)
    for number, (argument, before) in enumerate(zip(argv, ("", *argv), strict=False)):
        if number in suspected or before.startswith("-"):
            yield argument_pieces(argument, before)
        else:
            yield (Piece(argument),) if argument else ()


def _suspected(argv: tuple[str, ...]) -> set[int]:
    whole = "\n".join(argv)
    starts = list(accumulate((len(argument) + 1 for argument in argv), initial=0))
    found: set[int] = set()
    spans = [
        (reading.place(start), reading.place(stop))
        for reading in readings(whole)
        for start, stop in suspects(reading.text)
    ]
    for start, stop in (*spans, *(block.span() for block in _PEM_HEAD.finditer(whole))):
        found.update(range(bisect_right(starts, start) - 1, bisect_right(starts, stop)))
    return found


def mask(text: str) -> str:
    """Return ``text`` with each secret replaced by ``[secret: kind]``; nothing is escaped."""
    return "".join(mark(piece.kind) if piece.kind else piece.text for piece in pieces(text))


def _takes_secret(option: str) -> bool:
    """Return whether an argument is an option such as ``--db-password``."""
    if not _OPTION.fullmatch(option):
        return False
    return _ENDS_AS_SECRET.search(option, max(1, len(option) - _LONGEST_WORD)) is not None


def _spans(text: str, *, code: bool, word: bool) -> list[tuple[int, int, str]]:
    aliases = [found.span() for found in _ALIAS.finditer(text)] if "alias" in text else []
    spans = [
        (*span, kind)
        for reading in readings(text)
        for match, kind in matches(reading.text)
        if not (
            _CALL.search(match[1])
            or (kind == _NAMED and _is_within(reading.place(match.start()), aliases))
            or ((code or word) and _names_a_file(match))
        )
        for span in reading.spans(*match.span(1))
    ]
    run = _run_in(text) if code and _PEM_HEAD.search(text) else frozenset[str]()
    for block in _PEM.finditer(text):
        lines = _PEM_LINE.finditer(text, *block.span("body"))
        spans.extend((*line.span(), "private key") for line in lines if line[0] not in run)
    return sorted(spans, key=lambda span: (span[0], -span[1], span[2]))


def _names_a_file(match: re.Match[str]) -> bool:
    """Return whether what looks like a token goes on a path, which may be that of a program."""
    start = match.start()
    if start != match.start(1):
        return False
    before = match.string[max(0, start - _LONGEST_PATH) : start]
    path = before[len(before.rstrip(_OF_A_PATH)) :]
    apart = before[: len(before) - len(path)][-1:]
    return path.startswith(("/", "./", "../", "~/")) and (not apart or apart in _BEFORE_A_PATH)


def _run_in(text: str) -> frozenset[str]:
    """Return the paths by which a shell may start a program: a line of a key can be one.

    Programs on the search path have no names that look like a line of a key.
    """
    return frozenset(one for found in cut(text).fragments for one in found.words if "/" in one)


def _is_within(place: int, spans: list[tuple[int, int]]) -> bool:
    at = bisect_right(spans, (place,)) - 1
    return at >= 0 and place <= spans[at][1]
