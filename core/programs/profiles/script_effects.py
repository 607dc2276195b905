"""Detect awk and sed scripts that may start other programs; writing files is not checked.

For classical trust, where a listed awk may write but its code may not run what is not listed. What
is not read for certain may.
"""

import re
from functools import lru_cache
from typing import Final

from core.programs.profiles.sed_script import sed_problem

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\r?\n|\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*|[0-9.]+)
    |(?P<or>\|\|)
    |(?P<step>\+\+|--)
    |(?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX: Final = re.compile(r"/((?:\\.|[^/\\\n])+)/")
_CLOSED: Final = re.compile(r"(?:\\.|\[\^?\]?[^\]\[]*\]|[^\[\\])*", re.DOTALL)
_BEFORE_REGEX: Final = frozenset(
    ("", "(", "{", "}", ";", ",", "!", "~", "&", "||", "\n", "=", "?", ":")
)
_FLAG_E: Final = re.compile(r"[gpiImM0-9]*e")
_SED_E: Final = re.compile(rf"(?<![A-Za-z]){_FLAG_E.pattern}")
_BY_LETTER: Final = re.compile(r"(?<![A-Za-z])[IM]*s([A-Za-z])")
"""A substitution whose delimiter may be a letter: `sa1adateae`."""

_MOST_BY_LETTER: Final = 16
_LIMIT: Final = 4000


@lru_cache(maxsize=512)
def awk_may_run(program: str) -> bool:
    """Return whether an awk program may start others: ``system``, a pipe, an indirect call."""
    if len(program) > _LIMIT or "\0" in program:
        return True
    at, before = 0, ""
    while at < len(program):
        if program[at] == "/" and before in _BEFORE_REGEX:
            regex = _REGEX.match(program, at)
            # A slash in brackets ends it for one awk and not for another.
            if regex is None or not _CLOSED.fullmatch(regex[1]):
                return True
            at, before = regex.end(), "/"
            continue
        token = _TOKEN.match(program, at)
        if token is None or _runs(token):
            return True
        at = token.end()
        before = before if token["blank"] else token[0]
    return False


def _runs(token: re.Match[str]) -> bool:
    """Return whether a token starts a program, or is not what it appears to be."""
    return token["word"] == "system" or token["mark"] in {"|", "@", '"'}


@lru_cache(maxsize=512)
def sed_may_run(script: str) -> bool:
    """Return whether a sed script may hold the command ``e``, or ``s`` with that flag."""
    if not script:  # BSD reads the empty word behind -i as a suffix, and the next one as the script
        return True
    if sed_problem(script) is None:
        return False
    return _SED_E.search(script) is not None or _runs_by_letter(script)


def _runs_by_letter(script: str) -> bool:
    """Return whether `e` follows what may be a substitution with a letter between its parts."""
    for count, found in enumerate(_BY_LETTER.finditer(script)):
        flags = script[found.end() :].split(found[1])[2:]
        # Where the letter is `e`, it ends what was split by it.
        if count == _MOST_BY_LETTER or any(_FLAG_E.match(one + found[1]) for one in flags):
            return True
    return False
