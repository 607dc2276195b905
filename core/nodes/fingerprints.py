"""Format the fingerprint of an id as words that two people can read to each other.

The words are proquints (arXiv:0901.4016): five letters for 16 bits, alternating consonants and
vowels.
"""

import hashlib

from core.model.node import Node

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
_WORDS = 4
_SHIFTS = ((12, _CONSONANTS), (10, _VOWELS), (6, _CONSONANTS), (4, _VOWELS), (0, _CONSONANTS))


def fingerprint_words(key: str) -> str:
    """Return four words, 64 bits of the SHA-256 of an id: ``lusab babad gutih tugad``."""
    digest = hashlib.sha256(bytes.fromhex(key)).digest()
    return " ".join(_word(digest[2 * at : 2 * at + 2]) for at in range(_WORDS))


def looks_like(node: Node) -> str:
    """Return a warning about a name that could be taken for a paired node's."""
    return f"looks like the paired node {node.name!r} ({node.id[:12]}), which is another machine"


def _word(two: bytes) -> str:
    number = int.from_bytes(two)
    return "".join(letters[number >> shift & len(letters) - 1] for shift, letters in _SHIFTS)
