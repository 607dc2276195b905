"""An authenticator in software, for tests without a browser: an Ed25519 passkey that signs."""

import base64
import hashlib
import json
from dataclasses import dataclass, field

import cbor2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.trust.passkeys import RelyingParty, Signed

UP, UV = 0x01, 0x04
_EDDSA, _OKP, _ED25519 = -8, 1, 6


def encoded(data: bytes) -> str:
    """Return bytes in the base64 of URLs."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class PasskeyDevice:
    """One passkey; ``count`` grows with each signature."""

    id: str = "cGFzc2tleQ"
    count: int = 0
    _key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    @property
    def public_key(self) -> str:
        """Return the public key as the store keeps it."""
        x = self._key.public_key().public_bytes_raw()
        return encoded(cbor2.dumps({1: _OKP, 3: _EDDSA, -1: _ED25519, -2: x}))

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
        signature = self._key.sign(data + hashlib.sha256(client_data).digest())
        return Signed(
            passkey=self.id,
            client_data=encoded(client_data),
            authenticator_data=encoded(data),
            signature=encoded(signature),
        )
