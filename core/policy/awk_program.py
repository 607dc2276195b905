"""Read an awk program and know it to print only: no file written, no program run.

A positive reading of what mawk 1.3.4, gawk 5.2, original-awk and busybox awk share. Redirection,
pipes, ``getline``, ``system``, ``close``, ``@`` (indirect calls, ``@load``), functions of one's
own, ``ENVIRON`` and the other writable specials are unknown (GTFOBins awk, OC 2026.3.31).
"""

import re
from typing import Final

_KEYWORDS: Final = frozenset(
    "BEGIN END if else while for do in break continue next exit delete print printf".split()  # noqa: SIM905 - a word list is easier to read than a column
)
_CALLS: Final = frozenset(
    """length substr index split sub gsub match sprintf tolower toupper int sqrt exp log sin cos
    atan2 rand srand gensub strftime systime mktime asort asorti""".split()  # noqa: SIM905 - as above
)
_SPECIALS: Final = frozenset(
    "NR NF FNR FS OFS RS ORS FILENAME SUBSEP RSTART RLENGTH OFMT CONVFMT IGNORECASE".split()  # noqa: SIM905 - as above
)
_RESERVED: Final = frozenset(
    """getline system close fflush function func return switch case default nextfile include load
    namespace eval stdin stdout fopen popen""".split()  # noqa: SIM905 - as above
)
_NAME: Final = re.compile(r"[a-z_][A-Za-z0-9_]*|[A-Z][a-z][A-Za-z0-9_]*|[A-Z]")
_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t]+|\#[^\n\\]*)
    |(?P<end>[;\n{}])
    |(?P<string>"(?:[^"\\\n]|\\[^\n])*")
    |(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<slash>/)
    |(?P<item>\])
    |(?P<shut>\))
    |(?P<open>[(,!~]|&&|\|\||!=|!~)
    |(?P<sign>\+\+|--|[-+*%^]=?|==?|<=?|[?:$\[])
    |(?P<more>>=?)""",
    re.VERBOSE | re.ASCII,
)
# No bracket may hold a slash or a backslash: awks disagree about where such a pattern ends.
_REGEX: Final = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:[a-z]+:\]|[^/\\\]\n\[])*\])*/")
_BEFORE_REGEX: Final = frozenset({"end", "open"})
# After `)` a slash may be either: `(a + b) / 2`, but `if (a) /b/`.
_OPERANDS: Final = frozenset({"number", "word", "item"})
_LIMIT: Final = 4000


class _Reader:
    """One pass over a program: what stood before decides what ``/`` and ``>`` mean."""

    __slots__ = ("before", "place", "printing", "program")

    def __init__(self, program: str) -> None:
        self.program = program
        self.place = 0
        self.before = "end"
        self.printing = False

    def run(self) -> str | None:
        while self.place < len(self.program):
            found = _TOKEN.match(self.program, self.place)
            if found is None or not self._step(found.lastgroup or "", found):
                rest = self.program[self.place : self.place + 20]
                return f"awk program: {rest!r} is not known to be harmless"
        return None

    def _step(self, kind: str, found: re.Match[str]) -> bool:
        end = found.end()
        if kind == "blank":
            self.place = end
            return True
        if kind == "slash":
            return self._slash()
        if kind == "word" and not self._word(found[0], end):
            return False
        if kind == "more" and self.printing:
            return False
        if kind == "end" and found[0] != "\n":  # a newline after a comma ends nothing
            self.printing = False
        self.place = end
        self.before = self._after_word(found[0]) if kind == "word" else kind
        return True

    def _slash(self) -> bool:
        if self.before in _OPERANDS:
            self.place, self.before = self.place + 1, "sign"
            return True
        found = _REGEX.match(self.program, self.place) if self.before in _BEFORE_REGEX else None
        if found is None:
            return False
        self.place, self.before = found.end(), "string"
        return True

    def _word(self, word: str, end: int) -> bool:
        called = self.program[end:].lstrip(" \t").startswith("(")
        if word in _CALLS:
            return called or word == "length"
        if word in _KEYWORDS:
            self.printing = self.printing or word in {"print", "printf"}
            return True
        if word in _SPECIALS:
            return True
        return not called and word not in _RESERVED and _NAME.fullmatch(word) is not None

    @staticmethod
    def _after_word(word: str) -> str:
        return "keyword" if word in _KEYWORDS or word in _CALLS else "word"


def awk_problem(program: str) -> str | None:
    """Say what in a program is not known to be harmless; ``None`` if all of it is."""
    if len(program) > _LIMIT:
        return "the awk program is too long to be judged"
    return _Reader(program).run()
