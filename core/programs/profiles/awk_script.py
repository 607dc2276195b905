"""Read an awk program, to establish that it only computes and prints: it writes and runs nothing.

This is a positive reading of POSIX awk, checked against gawk 5.2, mawk 1.3.4, one-true-awk and
busybox. What is not listed is unknown: pipes, redirections, ``getline``, ``system``, ``close``,
``@``, the program's own functions, and the arrays of arguments and environment (GTFOBins awk).

A slash is a division after an operand, and otherwise begins a regular expression; if awks disagree
about one, the program is unknown, because in the wrong mode its strings would be read as code.
"""

import re
from typing import Final

_LIMIT: Final = 4000


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_TOKEN: Final = re.compile(
    r"""
    (?P<blank>[ \t]+)
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<line>\n)
  | (?P<step>\+\+|--)
  | (?P<operator>&&|\|\||[-+*%^]=|\*\*=?|[=!<]=|!~|[-+*%^=!<~?:,$])
  | (?P<more>>=?)
  | (?P<slash>/)
  | (?P<open>[(\[])
  | (?P<close>[)\]])
  | (?P<end>[;{}])
    """,
    re.VERBOSE,
)
# A slash or an odd backslash in brackets is read differently by different awks, so it is unknown.
_BRACKET: Final = r"\[\^?\]?(?:\[:[a-z]+:\]|\\[A-Za-z.+*?|()_^$-]|[^/\\\]\n\[])*\]"
_REGEX: Final = re.compile(rf"/(?!=)(?:[^/\\\n\[]|\\[^\n]|{_BRACKET})+/")
_WORDS: Final = frozenset(
    "BEGIN END if else while for do in break continue next nextfile exit delete".split()  # noqa: SIM905
)
_PRINTING: Final = frozenset(("print", "printf"))
_VARIABLE: Final = re.compile(r"\s*[a-z_]*\s*")
_CONTROL: Final = frozenset(("if", "while", "for"))
_FUNCTIONS: Final = _words(
    "length substr index split sub gsub match sprintf sin cos atan2 exp log sqrt int rand srand "
    "tolower toupper gensub strftime systime mktime strtonum and or xor lshift rshift compl"
)
_CALLED: Final = _FUNCTIONS | _WORDS | _PRINTING
# Words that in some awk start programs, open files, read what no operand names, or define
# functions.
_REFUSED: Final = _words(
    "system getline close fflush function func return switch case default include load namespace "
    "ARGV ARGC ARGIND ENVIRON PROCINFO SYMTAB FUNCTAB TEXTDOMAIN LINT BEGINFILE ENDFILE dcgettext "
    "dcngettext bindtextdomain asort asorti patsplit typeof isarray mkbool _"
)
WORDS_OF_AWK: Final = _CALLED | _REFUSED
"""Names that cannot be the program's own variables."""


class _Reader:
    """One pass over one program; ``divides`` is what a slash means now, ``None`` for unknown."""

    __slots__ = ("control", "divides", "parens", "previous", "printing")

    def __init__(self) -> None:
        self.previous = "\n"
        self.divides: bool | None = False
        self.control = False
        self.parens: list[bool] = []
        self.printing = False

    def take(self, kind: str, text: str) -> bool:
        """Read one token; return whether it is known in its place."""
        known = self._name(text) if kind == "name" else self._mark(kind, text)
        self.control = text in _CONTROL
        self.previous = text
        return known

    def _name(self, name: str) -> bool:
        if name in _REFUSED:
            return False
        if name in _WORDS or name in _PRINTING:
            self.printing = self.printing or name in _PRINTING
            self.divides = False if name in _PRINTING else None
        else:
            self.divides = None if name == "length" else True
        return True

    def _mark(self, kind: str, text: str) -> bool:
        match kind:
            case "number" | "string":
                self.divides = True
            case "step":
                self.divides = None
            case "operator":
                self.divides = None if text == "$" else False
            case "more":
                self.divides = False
                return not self.printing
            case "open":
                return self._opened(text)
            case "close":
                return self._closed()
            case _:
                return self._ended(text)
        return True

    def _opened(self, text: str) -> bool:
        called = text == "(" and self._calls()
        self.parens.append(self.control)
        self.divides = False
        return called or text == "["

    def _calls(self) -> bool:
        """Return whether a parenthesis here does not call an unknown function."""
        word = self.previous
        return not (word[0].isalpha() or word[0] == "_") or word in _CALLED

    def _closed(self) -> bool:
        if not self.parens:
            return False
        self.divides = None if self.parens.pop() else True
        return True

    def _ended(self, text: str) -> bool:
        if self.parens and not (text == ";" and self.parens[0]):
            return False
        if text != "\n":
            self.printing = False
        self.divides = False
        return True


def awk_problem(program: str) -> str | None:
    """Return what in a program is not known to be harmless; ``None`` if all of it is."""
    if len(program) > _LIMIT or "\0" in program or _VARIABLE.fullmatch(program):
        return "the awk program is empty, a lone variable, or too long to be judged"
    reader, place = _Reader(), 0
    while place < len(program):
        end = _next(reader, program, place)
        if end is None:
            return f"awk program: {program[place : place + 20]!r} is not known to be harmless"
        place = end
    return None


def _next(reader: _Reader, program: str, place: int) -> int | None:
    """Return where the token at ``place`` ends, ``None`` if it is unknown."""
    token = _TOKEN.match(program, place)
    if token is None:
        return None
    kind = token.lastgroup or ""
    if kind == "slash":
        return _slash(reader, program, place)
    return token.end() if kind == "blank" or reader.take(kind, token[0]) else None


def _slash(reader: _Reader, program: str, place: int) -> int | None:
    """Return where a division or a regular expression ends, ``None`` if that is unknown."""
    if reader.divides:
        reader.previous, reader.divides = "/", False
        return place + len("/=" if program.startswith("/=", place) else "/")
    found = _REGEX.match(program, place) if reader.divides is False else None
    if found is None:
        return None
    reader.previous, reader.divides, reader.control = found[0], None, False
    return found.end()
