"""Generate the text of a token, recognise one by its shape, and hash it.

``sayso_``, 43 letters and digits that hold 256 random bits, 6 that are the CRC-32 of all before
them: a scanner for secrets recognises it without asking, a mistyped one is refused without a
look-up.
"""

import hashlib
import re
import secrets
import zlib
from typing import Final

PREFIX: Final = "sayso_"
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM: Final = 43
_CHECK: Final = 6
_SHAPE: Final = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_RANDOM + _CHECK}}}", re.ASCII)


def draw() -> str:
    """Return a new token: 256 random bits."""
    body = PREFIX + _written(secrets.randbits(256), _RANDOM)
    return body + _check(body)


def is_token(text: str) -> bool:
    """Return whether a text has the shape and the checksum of a token."""
    return _SHAPE.fullmatch(text) is not None and text[-_CHECK:] == _check(text[:-_CHECK])


def digest(text: str) -> str:
    """Return the SHA-256 hex of a random secret, which needs no salt and no slow hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def _check(body: str) -> str:
    return _written(zlib.crc32(body.encode()), _CHECK)


def _written(number: int, length: int) -> str:
    found = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        found.append(_DIGITS[digit])
    return "".join(found)
