# ruff: noqa: RUF001 - the table of look-alikes
"""Reduce a name to what a reader sees of it, so that two names can be compared by appearance.

After Unicode's skeletons (UTS #39), for names of machines: case, width, marks, invisible characters
and the kind of dash do not count, nor do letters of other scripts that are drawn like Latin ones,
nor ``1`` for ``l``, ``0`` for ``o`` and ``rn`` for ``m``. Two names that differ in nothing else are
taken for one another; the result itself is for comparison only.
"""

import unicodedata
from functools import lru_cache

from core.text.confusables import odd

_DRAWN_LIKE = {
    "AАΑᎪꓮ": "a", "BВΒᏴꓐ": "b", "CСϹᏟꓚⲤ": "c", "DᎠꓓ": "d", "EЕΕᎬꓰ": "e", "FϜꓝ": "f",
    "GԌᏀꓖ": "g", "HНΗᎻꓧⲎ": "h", "IІΙӀᏆꓲⵏ": "l", "JЈᎫꓙ": "j", "KКΚᏦꓗⲔ": "k", "LԼᏞꓡ": "l",
    "MМΜᎷꓟⲘ": "m", "NΝꓠⲚ": "n", "OОΟՕꓳⲞ": "o", "PРΡᏢꓑⲢ": "p", "QԚ": "q", "RᎡᏒꓣ": "r",
    "SЅᏚꓢ": "s", "TТΤᎢꓔⲦ": "t", "Uꓴ": "u", "VѴᏙꓦ": "v", "WԜᎳꓪ": "w", "XХΧꓫⲬ": "x",
    "YУҮΥᎩꓬⲨ": "y", "ZΖᏃꓜ": "z",
    "аαɑ": "a", "ьβ": "b", "сϲⲥ": "c", "ԁ": "d", "еεҽ": "e", "ғ": "f", "ɡց": "g", "һհ": "h",
    "іιıɩ": "l", "јյȷ": "j", "кκ": "k", "ӏǀ∣": "l", "м": "m", "пոη": "n", "оοօσⲟ": "o",
    "рρⲣ": "p", "ԛզ": "q", "г": "r", "ѕ": "s", "тτ": "t", "υս": "u", "ѵν": "v", "ԝω": "w",
    "хχⲭ": "x", "уүγ": "y", "ᴢ": "z", "0": "o", "1|i": "l",
}  # fmt: skip
_LETTERS = str.maketrans({one: latin for all_, latin in _DRAWN_LIKE.items() for one in all_})
_TWO_FOR_ONE = (("rn", "m"), ("vv", "w"))
_INVISIBLE = frozenset({"Cc", "Cf", "Mn", "Me", "Mc"})
_REMEMBERED = 4096


@lru_cache(_REMEMBERED)
def likeness(name: str) -> str:
    """Return what two names have in common that a reader takes for one another."""
    wide = unicodedata.normalize("NFKD", name)
    seen = "".join(_drawn(one) for one in wide if not _is_invisible(one))
    folded = unicodedata.normalize("NFKD", seen.translate(_LETTERS).casefold()).translate(_LETTERS)
    for two, one in _TWO_FOR_ONE:
        folded = folded.replace(two, one)
    return "-".join(folded.replace("_", " ").split())


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category in _INVISIBLE or (category == "Lo" and odd(ord(character)))


def _drawn(character: str) -> str:
    """Return a dash for any dash, and for a Latin letter with a tail or a stroke the plain one."""
    if character.isascii():
        return character
    if unicodedata.category(character) == "Pd" or character == "\u2212":
        return "-"
    kind, *words = unicodedata.name(character, "").split(" ")
    plain = [word for word in words if len(word) == 1] if kind == "LATIN" else []
    return plain[0] if plain else character
