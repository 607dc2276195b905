"""Recognise characters that a reader cannot see."""

import unicodedata


def hidden(character: str) -> bool:
    """Return whether a reader cannot see or place a character; written apart from the product."""
    category = unicodedata.category(character)
    return (
        (category[0] in "CZ" and character not in " \n")
        or unicodedata.bidirectional(character) in {"R", "AL", "AN"}
        or character in "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5"
        or 0xFE00 <= ord(character) <= 0xFE0F
        or 0xE0100 <= ord(character) <= 0xE01EF
    )
