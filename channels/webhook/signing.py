"""Sign and check bodies: HMAC-SHA-256 over version, direction, time and body (RFC 2104)."""

import hashlib
import hmac
import re
from enum import StrEnum

TIMESTAMP = "X-Sayso-Timestamp"
SIGNATURE = "X-Sayso-Signature"
FRESH_S = 300
"""Seconds for which a signature is valid, on either side of our clock."""

_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)


class Direction(StrEnum):
    """Which way a body goes; signed, so that no body can be sent back to its sender."""

    OUT = "out"
    IN = "in"


def sign(secret: str, direction: Direction, body: bytes, now_s: int) -> dict[str, str]:
    """Return the headers that sign a body; ``now_s`` is seconds since the epoch."""
    return {TIMESTAMP: str(now_s), SIGNATURE: _signature(secret, direction, str(now_s), body)}


def fault(
    secret: str, direction: Direction, headers: tuple[str, str], body: bytes, now_s: int
) -> str | None:
    """Return why a body must not be trusted, ``None`` if it may; compared in constant time.

    ``headers`` are the timestamp and the signature as received.
    """
    at, signature = headers
    if not _SECONDS.fullmatch(at):
        return f"the header {TIMESTAMP} must be seconds since the epoch"
    expected = _signature(secret, direction, at, body)
    if not hmac.compare_digest(expected.encode(), signature.encode(errors="replace")):
        return f"the header {SIGNATURE} does not match the body"
    if abs(now_s - int(at)) > FRESH_S:
        return f"its timestamp differs from this machine's clock by more than {FRESH_S} s"
    return None


def _signature(secret: str, direction: Direction, at: str, body: bytes) -> str:
    text = b":".join((b"v1", direction.encode(), at.encode(), body))
    return "v1=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()
