"""Detect awk and sed scripts that may start other programs; writing files is not checked.

This is for classical trust, where a listed awk may write but its code may not run what is not
listed. A script that cannot be read for certain counts as one that may.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.programs.profiles.awk_script import WORDS_OF_AWK
from core.programs.profiles.sed_script import sed_problem

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<number>[0-9.]+(?:[eE][-+]?[0-9]+)?(?![\w.]))
    |(?P<word>\w+|\.[\w.]+)
    |(?P<or>\|\|)
    |(?P<step>\+\+|--)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_REGEX: Final = re.compile(r"/((?:\\.|[^/\\\n])+)/")
_CLOSED: Final = re.compile(r"(?:\\.|\[\^?\]?[^\]\[]*\]|[^\[\\])*", re.DOTALL)
_CONDITION: Final = re.compile(r"if|while|for")
"""A slash after the parentheses of these begins a regular expression; after others, it divides."""

_FLAG_E: Final = re.compile(r"[gpiImM0-9]*e")
_SED_E: Final = re.compile(rf"(?<![A-Za-z]){_FLAG_E.pattern}")
_BY_LETTER: Final = re.compile(r"(?<![A-Za-z])[IM]*s([A-Za-z])")
"""A substitution whose delimiter may be a letter: `sa1adateae`."""

_ADDRESS_BY_LETTER: Final = re.compile(r"(?:\A|[\s;{},!])\\([A-Za-z])")
"""The same, of an address: `\\a1ae date`."""

_TEXT_ONLY: Final = re.compile(
    r"\s*(?:[0-9]+|\$|/(?:[^/\\\n\[]|\\[^\n])+/I?)?\s*[aic][ \\][^\n\\]*"
)
"""A script that adds one line of text, in which no letter is a command."""

_MOST_BY_LETTER: Final = 16
_MOST_SLASHES: Final = 64
_LIMIT: Final = 4000


@dataclass(frozen=True, slots=True)
class _Slash:
    """A place in an awk program, and whether a slash there divides; ``None`` if it may."""

    at: int
    divides: bool | None


@lru_cache(maxsize=512)
def awk_may_run(program: str) -> bool:
    """Return whether an awk program may start others: ``system``, a pipe, an indirect call.

    If a slash may divide or begin a regular expression, both readings are checked.
    """
    if len(program) > _LIMIT or "\0" in program:
        return True
    conditions = _CONDITION.search(program) is not None
    waiting, seen = [_Slash(0, divides=False)], set[_Slash]()
    while waiting:
        slash = _next_slash(program, waiting.pop(), conditions=conditions)
        if slash is None:
            return True
        if slash.at < len(program) and slash not in seen:
            seen.add(slash)
            behind = _behind(program, slash)
            if behind is None or len(seen) > _MOST_SLASHES:
                return True
            waiting += behind
    return False


def _next_slash(program: str, start: _Slash, *, conditions: bool) -> _Slash | None:
    """Return the next slash, or the end; ``None`` if something before it may start a program."""
    at, divides = start.at, start.divides
    while at < len(program) and program[at] != "/":
        token = _TOKEN.match(program, at)
        if token is None or _runs(token):
            return None
        at = token.end()
        if token["blank"] is None:
            divides = _divides_behind(token, conditions=conditions)
    return _Slash(at, divides)


def _behind(program: str, slash: _Slash) -> list[_Slash] | None:
    """Return the places from which to continue after a slash, ``None`` if they are not known."""
    division = [] if slash.divides is False else [_Slash(slash.at + 1, divides=False)]
    if slash.divides:
        return division
    regex = _REGEX.match(program, slash.at)
    if regex is None and division and not program.startswith("//", slash.at):
        return division  # it has no end, so no awk takes it for a regular expression
    # A slash in brackets ends it in one awk and not in another.
    if regex is None or not _CLOSED.fullmatch(regex[1]):
        return None
    return [*division, _Slash(regex.end(), divides=None)]


def _divides_behind(token: re.Match[str], *, conditions: bool) -> bool | None:
    """Return whether a slash after a token divides, ``None`` if awks disagree about it."""
    word = token["word"]
    if word is not None:
        return True if _NAME.fullmatch(word) and word not in WORDS_OF_AWK else None
    if token[0] == ")":
        return None if conditions else True
    if token["number"] or token[0] == "]":
        return True
    return None if token["string"] or token["step"] else False


def _runs(token: re.Match[str]) -> bool:
    """Return whether a token starts a program, or is not what it appears to be."""
    word = token["word"] or ""
    if word == "system" or ("system" in word and not _NAME.fullmatch(word)):
        return True
    return token["mark"] in {"|", "@", '"'}


@lru_cache(maxsize=512)
def sed_may_run(script: str) -> bool:
    """Return whether a sed script may contain the command ``e``, or ``s`` with that flag."""
    if not script:  # BSD reads an empty word after -i as a suffix, and the next one as the script
        return True
    if sed_problem(script) is None or _TEXT_ONLY.fullmatch(script):
        return False
    return (
        _SED_E.search(script) is not None or _runs_by_letter(script) or _runs_behind_letter(script)
    )


def _runs_by_letter(script: str) -> bool:
    """Return whether `e` follows what may be a substitution with a letter between its parts."""
    for count, found in enumerate(_BY_LETTER.finditer(script)):
        flags = script[found.end() :].split(found[1])[2:]
        # The delimiter itself may be an `e`, so it is added back to what was split by it.
        if count == _MOST_BY_LETTER or any(_FLAG_E.match(one + found[1]) for one in flags):
            return True
    return False


def _runs_behind_letter(script: str) -> bool:
    """Return whether a command that runs may follow an address between two letters."""
    for count, found in enumerate(_ADDRESS_BY_LETTER.finditer(script)):
        behind = re.compile(rf"{found[1]}[IM]*[\s!]*(?:e|s[A-Za-z])")
        if count == _MOST_BY_LETTER or behind.search(script, found.end()):
            return True
    return False
