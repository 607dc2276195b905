"""Split the text of a command, in which ``*`` is any run of characters, into words.

A shell would remove quotes and read ``~`` as the home; the same is done here, because a rule is
matched against the words that a command really has.
"""

import re

from bot.policy_tools.importing.statements import INNER, STAR
from core.model.command import UNROUTED, Reading
from core.shell import reader

_STAR_WORD, _INNER_WORD = "zqAnyRunzq", "zqInQuoteszq"
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
_PIECES = re.compile(
    r"""'[^']*'?|"(?:[^"\\]|\\.)*"?|\\.?|(?P<home>(?<!\S)~(?=/|\s|\Z))|.""", re.DOTALL
)
"""Quoted stretches, escapes, a leading ``~``, and single characters."""
_LEFT_PLAIN = re.compile(r"[^\s;|&<>()$`\"'\\#!{}~*?\[\]]+")


def words_of(text: str, home: str, *, stars: bool = True) -> tuple[str, ...] | None:
    """Return the words of one plain command, ``None`` if a shell would do more than that.

    With ``stars`` each ``*`` becomes ``STAR``, in quotes ``INNER``.
    """
    marked = _marked(text, home, stars=stars)
    if marked is None:
        return None
    reading = reader.read(marked)
    if not isinstance(reading, Reading) or len(reading.argvs) != 1:
        return None
    (argv,) = reading.argvs
    plain = tuple(word for word in argv if isinstance(word, str))
    routed = any(one != UNROUTED for one in reading.routings)
    if routed or len(plain) != len(argv) or not plain:
        return None
    return tuple(word.replace(_STAR_WORD, STAR).replace(_INNER_WORD, INNER) for word in plain)


def leading_words(text: str) -> tuple[str, ...]:
    """Return the words at the beginning of a text that are certainly plain, possibly none."""
    found = []
    for word in text.split():
        if _LEFT_PLAIN.fullmatch(word) is None:
            break
        found.append(word)
    return tuple(found)


def _marked(text: str, home: str, *, stars: bool) -> str | None:
    """Return the text with words in place of stars and of ``~``; ``None`` for odd characters."""
    odd = not text.isprintable() or any("\ue000" <= mark <= "\uf8ff" for mark in text)
    if odd or _STAR_WORD in text or _INNER_WORD in text or (not stars and "*" in text):
        return None
    plain_home = home if _PLAIN.fullmatch(home) else "~"
    return "".join(
        plain_home if match["home"] else _piece(match[0]) for match in _PIECES.finditer(text)
    )


def _piece(piece: str) -> str:
    """Return a quoted or escaped stretch, or a character, with words in place of its stars."""
    if piece == "*":
        return _STAR_WORD
    return piece.replace("*", _INNER_WORD) if piece[0] in "\"'" else piece
