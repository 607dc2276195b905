r"""Mask what is secret and escape what deceives: the two things done to every text that leaves.

Each character that a reader could not see or would take for another is shown as ``\u{202E}``.
Our own marks cannot be forged, since text that looks like one is escaped itself: a literal
``\u{`` starts with ``\u{005C}``, a literal ``[secret:`` with ``\u{005B}``. A line feed shows as
``⏎`` before the line breaks, so that a client's soft wrap never passes for one. ``\u{0020}\u{N40}``
(with a multiplication sign for N) is forty spaces.
"""

import re
from dataclasses import dataclass

from core.approvals.lookalikes import deceptive, odd, stray_mark
from core.approvals.secrets import Piece, mark, pieces

LINE_MARK = "\u23ce"
_TIMES = "\u00d7"

_SPECIAL = re.compile(
    r"[\x00-\x1f\x7f]"
    r"|\\(?=u\{)"
    r"|\[(?=secret:)"
    r"|(?P<blanks> {17,})"
    r"|(?P<word>(?<![A-Za-z0-9])[A-Za-z0-9]*+[^\x00-\x7f](?:[A-Za-z0-9]|[^\x00-\x7f])*)"
)
_OUTSIDE_ASCII = re.compile(r"[^\x00-\x7f]")
_REPEATED = re.compile(rf"((?:\\u\{{[0-9A-F]+\}}|{LINE_MARK}\n))\1{{4,}}")


@dataclass(frozen=True, slots=True)
class Redacted:
    """The only text that a channel accepts; made by this module and ``rendering`` alone."""

    text: str

    def __str__(self) -> str:
        return self.text


def redact(text: str, *, multiline: bool = False, strict: bool = False) -> Redacted:
    r"""Mask secrets and escape what cannot be read for certain.

    ``multiline`` breaks the line after the mark of a line feed; otherwise a line feed is
    ``\u{000A}``. ``strict`` is for names: everything outside ASCII is escaped.
    """
    escaped = "".join(shown(piece, strict=strict) for piece in pieces(text))
    if text and not text.strip(" "):
        escaped = "\\u{0020}" * len(text)
    return Redacted(counted(broken(escaped) if multiline else escaped))


def shown(piece: Piece, *, strict: bool = False) -> str:
    """Return one piece of a text, masked or escaped; ``strict`` as in ``redact``."""
    if piece.kind:
        return mark(piece.kind)
    return _SPECIAL.sub(_escape_all if strict else _escape, piece.text)


def _escape(match: re.Match[str]) -> str:
    if match["word"]:
        return _word(match["word"])
    if match["blanks"]:
        return f"\\u{{0020}}\\u{{{_TIMES}{len(match['blanks'])}}}"
    return _code(match[0])


def _escape_all(match: re.Match[str]) -> str:
    if match["word"]:
        return _OUTSIDE_ASCII.sub(lambda found: _code(found[0]), match["word"])
    return _escape(match)


def _word(word: str) -> str:
    suspicious = deceptive(word)
    kept: list[str] = []
    for character in word:
        if character.isascii():
            kept.append(character)
        elif suspicious or odd(character) or stray_mark(character, "".join(kept[-3:])):
            kept.append(_code(character))
        else:
            kept.append(character)
    return "".join(kept)


def _code(character: str) -> str:
    return f"\\u{{{ord(character):04X}}}"


def broken(escaped: str) -> str:
    """Break the line after each mark of a line feed."""
    return escaped.replace("\\u{000A}", f"{LINE_MARK}\n")


def counted(escaped: str) -> str:
    """Write an escape that stands five times or more in a row once, with the number."""
    return _REPEATED.sub(_count, escaped)


def _count(match: re.Match[str]) -> str:
    unit = match[1]
    times = f"\\u{{{_TIMES}{len(match[0]) // len(unit)}}}"
    return f"{LINE_MARK}{times}\n" if unit.endswith("\n") else f"{unit}{times}"
