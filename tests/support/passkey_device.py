"""Act as an authenticator in software: a passkey of any kind that signs, without a browser."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Protocol

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256

from core.trust.passkeys import RelyingParty, Signed

UP, UV = 0x01, 0x04


class SigningKey(Protocol):
    """A private key of an authenticator."""

    @property
    def cose(self) -> dict[int, object]:
        """Return the public key in COSE form (RFC 9053)."""

    def sign(self, text: bytes) -> bytes:
        """Return a signature."""


class EdKey:
    """Ed25519 (EdDSA, -8)."""

    def __init__(self) -> None:
        self._key = Ed25519PrivateKey.generate()

    @property
    def cose(self) -> dict[int, object]:
        """Return the public key."""
        return {1: 1, 3: -8, -1: 6, -2: self._key.public_key().public_bytes_raw()}

    def sign(self, text: bytes) -> bytes:
        """Sign."""
        return self._key.sign(text)


class EcKey:
    """ECDSA over P-256 (ES256, -7)."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())

    @property
    def cose(self) -> dict[int, object]:
        """Return the public key."""
        point = self._key.public_key().public_numbers()
        parts = {-2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        return {1: 2, 3: -7, -1: 1, **parts}

    def sign(self, text: bytes) -> bytes:
        """Sign."""
        return self._key.sign(text, ec.ECDSA(SHA256()))


class RsaKey:
    """RSA with PKCS #1 v1.5 (RS256, -257)."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65_537, 2048)

    @property
    def cose(self) -> dict[int, object]:
        """Return the public key."""
        numbers = self._key.public_key().public_numbers()
        return {1: 3, 3: -257, -1: numbers.n.to_bytes(256, "big"), -2: b"\1\0\1"}

    def sign(self, text: bytes) -> bytes:
        """Sign."""
        return self._key.sign(text, padding.PKCS1v15(), SHA256())


def encoded(data: bytes) -> str:
    """Return bytes as base64url."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class PasskeyDevice:
    """One passkey; ``count`` grows with each signature."""

    id: str = "cGFzc2tleQ"
    count: int = 0
    key: SigningKey = field(default_factory=EdKey)

    @property
    def public_key(self) -> str:
        """Return the public key as the store keeps it."""
        return encoded(cbor2.dumps(self.key.cose))

    def sign(self, challenge: bytes, party: RelyingParty, flags: int = UP | UV) -> Signed:
        """Sign a challenge on a page."""
        self.count += 1
        client = {
            "type": "webauthn.get",
            "challenge": encoded(challenge),
            "origin": party.origin,
            "crossOrigin": False,
        }
        client_data = json.dumps(client).encode()
        name = hashlib.sha256(party.id.encode()).digest()
        data = name + bytes([flags]) + self.count.to_bytes(4, "big")
        signature = self.key.sign(data + hashlib.sha256(client_data).digest())
        return Signed(
            passkey=self.id,
            client_data=encoded(client_data),
            authenticator_data=encoded(data),
            signature=encoded(signature),
        )
