"""Tell the characters that a reader takes for what they are from those that deceive.

Pure tables and lookups over Python's own Unicode database; a character that this version does not
know is unassigned, and unassigned is odd. The rules are those of ``research/bypasses.md`` §12
(invariant 23), CVE-2021-42574 (bidi) and CVE-2021-42694 (look-alikes).
"""

import unicodedata
from functools import lru_cache

_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
)
"""Letters, marks and symbols that take no ink (default-ignorable or empty by design)."""

_ALWAYS_ODD = frozenset(
    "\u0131\u0237\u0138\u01c0\u01c1\u01c2\u01c3\u3007\u30ce\u30fc\u4e00\u4e28\u4e36\u4e3f\u23ce"
)
"""Letters that pass for an i, a bar, a dash or a slash, and the line mark of ``rendering``."""

_LOOKALIKES = frozenset(
    "асеорхуіјѕԁһԛԝҮүӀАВЕЅІЈКМНОРСТХУԌԚԜгпк"
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυιγ"  # noqa: RUF001 - the table of look-alikes
    "օոսհցԼՕՍ"
)
"""Letters that most fonts draw like a Latin one."""

_SHOWN = frozenset({"Ll", "Lu", "Lt", "Lo", "Lm", "Mn", "Mc", "So", "Sc"})
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_ODD_BLOCKS = (
    (0x0250, 0x036F),  # IPA, modifier letters, combining marks that fit any base
    (0x1AB0, 0x1AFF),  # combining marks, extended
    (0x1D00, 0x1DFF),  # phonetic extensions, more combining marks
    (0x20D0, 0x20FF),  # combining marks for symbols
    (0x2500, 0x25FF),  # boxes and shapes: the frames of our own prompts
    (0xA700, 0xA721),  # modifier tone letters
    (0xA788, 0xA78C),  # modifier letters, saltillo
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFE20, 0xFE2F),  # combining half marks
    (0xE0000, 0xE0FFF),  # tags and supplementary variation selectors
)
_MIXABLE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
_MARKS_IN_A_ROW = 2


@lru_cache(maxsize=4096)
def odd(character: str) -> bool:
    """Say whether a character outside ASCII must be escaped in any company."""
    code = ord(character)
    return (
        character in _BLANK
        or character in _ALWAYS_ODD
        or unicodedata.category(character) not in _SHOWN
        or unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        or any(low <= code <= high for low, high in _ODD_BLOCKS)
        or unicodedata.normalize("NFKC", character) != character
    )


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").partition(" ")[0]


def deceptive(word: str) -> bool:
    """Say whether a word passes for another: scripts that do not mix, or look-alikes only."""
    letters = [character for character in word if character.isalpha()]
    foreign = [letter for letter in letters if not letter.isascii()]
    scripts = {_script(letter) for letter in letters}
    if len(scripts) > 1 and not scripts - {"LATIN"} <= _MIXABLE:
        return True
    return bool(foreign) and all(letter in _LOOKALIKES for letter in foreign)


def stray_mark(character: str, before: str) -> bool:
    """Say whether a combining mark has no letter of its own to sit on.

    ``before`` is what was shown in front of it. A mark on an ASCII letter has a composed form, or
    it strikes the letter out.
    """
    if not unicodedata.category(character).startswith("M"):
        return False
    tail = before[-_MARKS_IN_A_ROW - 1 :]
    bases = [other for other in tail if not unicodedata.category(other).startswith("M")]
    return not bases or bases[-1].isascii() or not bases[-1].isalpha()
