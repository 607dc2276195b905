"""Seal short secrets that the store keeps, with a key that is not in the store (AES-256-GCM).

Whoever copies the database, or a backup of it, has nothing without the key: a file next to it, or
what the settings name. A sealed text says which key made it and holds for one use, such as one
person's app, so it cannot be moved to another's row.
"""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.errors import StateError
from core.files.private import create_private, read_private

SEALING_KEY: Final = "store.key"
SEALED: Final = "sealed:1:"
"""How each sealed text begins; no secret of an app does."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class Seals:
    """The key in ``path``, made when the first secret is sealed; ``given`` is used instead.

    ``given`` is 32 bytes in base64.
    """

    path: Path
    given: str | None = field(default=None, repr=False)

    def seal(self, secret: str, use: str) -> str:
        """Return a secret sealed for one use.

        Raises:
            StateError: the key cannot be read or made.
        """
        key = self._key(make=True)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        hidden = nonce + AESGCM(key).encrypt(nonce, secret.encode(), use.encode())
        return f"{SEALED}{_name(key)}:{base64.urlsafe_b64encode(hidden).decode()}"

    def opened(self, sealed: str, use: str) -> str | None:
        """Return the secret; ``None`` if another key sealed it, or for another use.

        Raises:
            StateError: the key file is unsafe, or holds no key.
        """
        return next(self.opened_among((sealed,), use), None)

    def opened_among(self, sealed: Iterable[str], use: str) -> Iterator[str]:
        """Yield the secrets of those texts that this key sealed for one use.

        Raises:
            StateError: the key file is unsafe, or holds no key.
        """
        own = [one for one in sealed if one.startswith(SEALED)]
        if not own:
            return
        try:
            key = self._key(make=False)
        except FileNotFoundError:
            return
        secrets_of = (_opened(one, key, use) for one in own)
        yield from (one for one in secrets_of if one is not None)

    def _key(self, *, make: bool) -> bytes:
        if self.given is not None:
            return _decoded(self.given, "store.key in the configuration")
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            if not make:
                raise
            create_private(self.path, base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            text = read_private(self.path)  # of two programs that started at once, one made it
        return _decoded(text.decode(errors="replace"), str(self.path))


def _opened(sealed: str, key: bytes, use: str) -> str | None:
    name, _, text = sealed.removeprefix(SEALED).partition(":")
    if name != _name(key):
        return None
    try:
        hidden = base64.b64decode(text, altchars=b"-_", validate=True)
        nonce, hidden = hidden[:_NONCE_BYTES], hidden[_NONCE_BYTES:]
        return AESGCM(key).decrypt(nonce, hidden, use.encode()).decode()
    except (binascii.Error, InvalidTag, ValueError):
        return None


def _decoded(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise StateError(
            f"{where} does not hold {_KEY_BYTES} bytes in base64. Restore it from a backup; with "
            "another key, authenticator apps must be enrolled again."
        )
    return key


def _name(key: bytes) -> str:
    """Return what a sealed text says about its key: eight digits that give nothing away."""
    return hashlib.sha256(b"sayso-sealing-key\0" + key).hexdigest()[:8]
