"""Keep the keys of this agent and of this machine, and sign with them (Ed25519, RFC 8032).

An id is the hex of a public key, so whoever knows an id can check a signature without asking.
"""

from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from core.errors import StateError
from core.files.private import create_private, read_private

SigningKey = Ed25519PrivateKey
"""A private key, for callers that only pass one on."""
AGENT_KEY = "exec-agent.key"
MACHINE_KEY = "exec-machine.key"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identities that speak from here: the agent (this gateway) and its machine."""

    agent: Ed25519PrivateKey
    machine: Ed25519PrivateKey

    @classmethod
    def new(cls) -> "Identity":
        """Return a fresh identity that is stored nowhere."""
        return cls(Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, home: Path) -> "Identity":
        """Return the identity of a home; its keys are made where there are none, mode 0600.

        Raises:
            StateError: a key file is unsafe, damaged, or cannot be made.
        """
        return cls(load_key(home / AGENT_KEY), load_key(home / MACHINE_KEY))

    @property
    def agent_id(self) -> str:
        """Return the agent's id: 64 hex digits."""
        return key_id(self.agent)

    @property
    def machine_id(self) -> str:
        """Return the machine's id: 64 hex digits."""
        return key_id(self.machine)


def is_signed(key_id: str, signature: str, message: bytes) -> bool:
    """Return whether a message carries the signature (hex) of an id."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key_id))
        key.verify(bytes.fromhex(signature), message)
    except (ValueError, InvalidSignature):
        return False
    return True


def key_id(key: Ed25519PrivateKey) -> str:
    """Return the id of a key: the hex of its public half, 64 digits."""
    return key.public_key().public_bytes_raw().hex()


def load_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file; one is made where there is none, mode 0600.

    Raises:
        StateError: the file is unsafe, damaged, or cannot be made.
    """
    try:
        text = read_private(path)
    except FileNotFoundError:
        create_private(path, _pem(Ed25519PrivateKey.generate()))
        text = read_private(path)  # of two programs that started at once, one made it
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise StateError(
            f"{path} is not an Ed25519 key in PEM. Restore it from a backup; a new key is a new "
            "id, which every host must then list."
        )
    return key


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
