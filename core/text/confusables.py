"""Distinguish the characters that a reader takes for what they are from those that deceive.

Pure tables and lookups over Python's own Unicode database; a character that this version does not
know is unassigned, and unassigned is odd. The rules are those of CVE-2021-42574
(bidi) and CVE-2021-42694 (look-alikes).
"""

import sys
import unicodedata
from collections.abc import Iterator
from enum import Enum, auto

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
_MARKS_ON_A_LETTER = 3

_KNOWN, _ODD, _MARK, _LETTER, _FOREIGN, _TWIN = (1 << bit for bit in range(6))
_SCRIPT_SHIFT = 6  # above the bits: the number of a letter's script; 0 where it is not a letter
_LATIN = 1
_scripts: dict[str, int] = {"LATIN": _LATIN, "CJK": 2, "HIRAGANA": 3, "KATAKANA": 4, "HANGUL": 5}
_LAST_MIXABLE = 5
# Zero pages until they are written, so that no number of characters makes it grow beyond 2.2 MB.
_found = memoryview(bytearray(2 * (sys.maxunicode + 1))).cast("H")


def _facts(characters: str) -> set[int]:
    return {_found[code] or _look_up(code) for code in map(ord, set(characters))}


def _look_up(code: int) -> int:
    character = chr(code)
    facts = _KNOWN
    facts |= _ODD * (not character.isascii() and _is_odd(character))
    facts |= _MARK * unicodedata.category(character).startswith("M")
    facts |= _FOREIGN * (not character.isascii())
    facts |= _TWIN * (character in _LOOKALIKES)
    if character.isalpha():
        script = unicodedata.name(character, "?").partition(" ")[0]
        facts |= _LETTER | _scripts.setdefault(script, len(_scripts) + 1) << _SCRIPT_SHIFT
    _found[code] = facts
    return facts


def _is_odd(character: str) -> bool:
    code = ord(character)
    return (
        character in _BLANK
        or character in _ALWAYS_ODD
        or unicodedata.category(character) not in _SHOWN
        or unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        or any(low <= code <= high for low, high in _ODD_BLOCKS)
        or unicodedata.normalize("NFKC", character) != character
    )


class Look(Enum):
    """What is to be escaped in a word: nothing, all outside ASCII, what is odd, marks as well."""

    CLEAR = auto()
    DECEPTIVE = auto()
    ODD = auto()
    MARKED = auto()


def look(word: str) -> Look:
    """Return what a reader must be shown of a word: what passes for something else."""
    facts = _facts(word)
    if _deceptive(facts):
        return Look.DECEPTIVE
    if any(each & (_MARK | _ODD) == _MARK for each in facts):
        return Look.MARKED
    return Look.ODD if any(each & _ODD for each in facts) else Look.CLEAR


def innocent(text: str) -> bool:
    """Return whether a text has only characters that never deceive, whatever is next to them.

    No word made of these can be deceptive, since their scripts mix with one another and with Latin.
    """
    return not any(
        each & (_ODD | _MARK | _TWIN) or each >> _SCRIPT_SHIFT > _LAST_MIXABLE
        for each in _facts(text)
    )


def odd(code: int) -> bool:
    """Return whether a character must be escaped whatever is next to it."""
    return bool((_found[code] or _look_up(code)) & _ODD)


def stray(word: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether it is odd or a mark without a letter of its own to sit on.

    A mark on an ASCII letter has a composed form, or it strikes the letter out.
    """
    room = 0
    for character in word:
        facts = _found[ord(character)] or _look_up(ord(character))
        if facts & _ODD or (facts & _MARK and not room):
            room = 0
            yield character, True
            continue
        if facts & _MARK:
            room -= 1
        else:
            room = _MARKS_ON_A_LETTER if facts & _LETTER and facts & _FOREIGN else 0
        yield character, False


def _deceptive(facts: set[int]) -> bool:
    """Return whether a word passes for another: scripts that do not mix, or look-alikes only."""
    letters = [each for each in facts if each & _LETTER]
    scripts = {each >> _SCRIPT_SHIFT for each in letters}
    if len(scripts) > 1 and max(scripts) > _LAST_MIXABLE:
        return True
    foreign = [each for each in letters if each & _FOREIGN]
    return bool(foreign) and all(each & _TWIN for each in foreign)
