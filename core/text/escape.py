r"""Mask what is secret and escape what deceives: the two things done to every text that leaves.

Each character that a reader could not see or would take for another is shown as ``\u{202E}``.
Our own marks cannot be forged, since text that resembles one is escaped itself: a literal
``\u{`` starts with ``\u{005C}``, a literal ``[secret:`` with ``\u{005B}``. A line feed shows as
``⏎`` before the line breaks, so that a client's soft wrap never passes for one. ``\u{0020}\u{N40}``
(with a multiplication sign for N) is forty spaces.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from core.text.confusables import Look, innocent, look, odd, stray
from core.text.secrets import Piece, mark, pieces

LINE_MARK = "\u23ce"
_TIMES = "\u00d7"
_SHORT, _REMEMBERED = 40, 4096

_CONTROL = r"[\x00-\x1f\x7f]"
# One class in front: the engine jumps to its characters, where it would try branches at each.
_SPECIAL = re.compile(
    rf"[\x00-\x1f\x7f\\\[](?:(?<={_CONTROL}){_CONTROL}*|(?<=\\)(?=u\{{)|(?<=\[)(?=secret:))"
)
_MANY = " " * 17
_BLANKS = re.compile(f"{_MANY}+")
_SPECIAL_OR_WORD = re.compile(
    rf"{_CONTROL}+|\\(?=u\{{)|\[(?=secret:)|{_BLANKS.pattern}"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]*+[^\x00-\x7f][A-Za-z0-9\x80-\U0010ffff]*"
)
_REPEATED = re.compile(rf"((?:\\u\{{[0-9A-F]+\}}|{LINE_MARK}\n))\1{{4,}}")


@dataclass(frozen=True, slots=True)
class Redacted:
    """The only text that a channel accepts; made by this module and ``rendering`` alone."""

    text: str

    def __str__(self) -> str:
        return self.text


def redact(
    text: str, *, multiline: bool = False, strict: bool = False, code: bool = False
) -> Redacted:
    r"""Mask secrets and escape what cannot be read for certain.

    ``multiline`` breaks the line after the mark of a line feed; otherwise a line feed is
    ``\u{000A}``. ``strict`` is for names: everything outside ASCII is escaped. ``code`` is what a
    shell would run: what it would start is never masked as a key.
    """
    escaped = "".join(shown(piece, strict=strict) for piece in pieces(text, code=code))
    if text and not text.strip(" "):
        escaped = "\\u{0020}" * len(text)
    return Redacted(counted(broken(escaped) if multiline else escaped))


def shown(piece: Piece, *, strict: bool = False) -> str:
    """Return one piece of a text, masked or escaped; ``strict`` as in ``redact``."""
    if piece.kind:
        return mark(piece.kind)
    text = piece.text
    if text.isascii() or (not strict and innocent(text)):
        text = _SPECIAL.sub(_codes, text)
        return _BLANKS.sub(_blanks, text) if _MANY in text else text
    return _SPECIAL_OR_WORD.sub(_escape_all if strict else _escape, text)


def _escape(match: re.Match[str]) -> str:
    text = match[0]
    if text.isascii():
        return _blanks(match) if text[0] == " " else _codes(match)
    return _short_word(text) if len(text) <= _SHORT else _word(text)


def _escape_all(match: re.Match[str]) -> str:
    text = match[0]
    if text.isascii():
        return _blanks(match) if text[0] == " " else _codes(match)
    return text.translate(_CODES)


def _codes(match: re.Match[str]) -> str:
    return match[0].translate(_SPECIAL_CODES)


def _blanks(match: re.Match[str]) -> str:
    return f"\\u{{0020}}\\u{{{_TIMES}{len(match[0])}}}"


def _word(word: str) -> str:
    match look(word):
        case Look.CLEAR:
            return word
        case Look.DECEPTIVE:
            return word.translate(_CODES)
        case Look.ODD:
            return word.translate(_ODD_CODES)
        case Look.MARKED:
            return "".join(
                each.translate(_CODES) if escaped else each for each, escaped in stray(word)
            )


def _code(character: str) -> str:
    return f"\\u{{{ord(character):04X}}}"


_short_word = lru_cache(_REMEMBERED)(_word)  # people repeat their words


class _Codes(dict[int, str | int]):
    """What ``translate`` puts for a character: itself where ``is_shown``, else its escape."""

    def __init__(self, is_shown: Callable[[int], bool]) -> None:
        super().__init__()
        self._is_shown = is_shown

    def __missing__(self, code: int) -> str | int:
        found: str | int = code if self._is_shown(code) else _code(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = found
        return found


_SPECIAL_CODES = {code: _code(chr(code)) for code in (*range(0x20), 0x7F, ord("["), ord("\\"))}
_PRINTABLE = range(0x20, 0x7F)
_CODES = _Codes(_PRINTABLE.__contains__)
_ODD_CODES = _Codes(lambda code: not odd(code))


def broken(escaped: str) -> str:
    """Break the line after each mark of a line feed."""
    return escaped.replace("\\u{000A}", f"{LINE_MARK}\n")


def counted(escaped: str) -> str:
    """Write an escape that occurs five times or more in a row once, with the number."""
    return _REPEATED.sub(_count, escaped)


def _count(match: re.Match[str]) -> str:
    unit = match[1]
    times = f"\\u{{{_TIMES}{len(match[0]) // len(unit)}}}"
    return f"{LINE_MARK}{times}\n" if unit.endswith("\n") else f"{unit}{times}"
