"""Define the names that travel: keys, requests and nonces."""

import secrets
from typing import Annotated

from pydantic import Field

KeyId = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""An agent or a machine: the hex of its Ed25519 public key. Also a SHA-256 fingerprint."""
RequestId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
"""128 random bits in hex, drawn by the client; nonces look alike."""


def new_id() -> str:
    """Return 128 random bits in hex."""
    return secrets.token_hex(16)
