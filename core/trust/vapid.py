"""Make the key that push services know a gateway by (VAPID, RFC 8292), and check browsers' keys."""

import base64
import binascii
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

VAPID_USE: Final = "push:vapid"
"""What the key is sealed for."""
_KEY_BYTES: Final = 32
_POINT_BYTES: Final = 65
_AUTH_BYTES: Final = 16


def new_key() -> str:
    """Return a fresh P-256 private key: its number, in URL-safe base64."""
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _text(number.to_bytes(_KEY_BYTES, "big"))


def public_key(private: str) -> str:
    """Return the point of a private key, as browsers take it when they subscribe."""
    key = ec.derive_private_key(int.from_bytes(_bytes(private), "big"), ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return _text(point)


def are_browser_keys(p256dh: str, auth: str) -> bool:
    """Return whether these are the keys of a subscription: a whole point of P-256, 16 bytes."""
    try:
        point = _bytes(p256dh)
        if len(point) != _POINT_BYTES:  # RFC 8291 has no compressed ones, and nothing opens them
            return False
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        return len(_bytes(auth)) == _AUTH_BYTES
    except (ValueError, binascii.Error):
        return False


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    padded = text + "=" * (-len(text) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)
