"""Make the TLS certificate that this machine shows, and check another's by what was pinned.

No authority vouches for anybody here, as with the host keys of ``ssh``: a contact of remote exec
pins the SHA-256 of the one certificate that its host shows, a node the key of its gateway, whatever
certificate it is in. Who may run what is decided by signatures, not by TLS.
"""

import datetime as dt
import hashlib
import hmac
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

from core.errors import StateError
from core.files.private import create_private, read_private

TLS_FILE = "exec-tls.pem"
_LIFE = dt.timedelta(days=3650)


def server_context(home: Path) -> tuple[ssl.SSLContext, str]:
    """Return what a listener needs, and its fingerprint (hex); the certificate is made if needed.

    Raises:
        StateError: the file is unsafe, damaged, or cannot be made.
    """
    text = _certificate(home)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # nothing is resumed: each connection is one short run
    try:
        _load(context, text)
        return context, fingerprint_of(x509.load_pem_x509_certificate(text))
    except (ValueError, ssl.SSLError) as error:
        raise StateError(
            f"{home / TLS_FILE} does not hold a key and its certificate. Restore it from a backup, "
            "or remove it: a new one has a new fingerprint, which every contact must then update."
        ) from error


def key_context(key: Ed25519PrivateKey) -> ssl.SSLContext:
    """Return what a listener whose peers pin this key needs; its certificate is new each time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    _load(context, _made(key))
    return context


def shown_key(connection: ssl.SSLObject) -> str | None:
    """Return the id of the Ed25519 key that the other side proved to hold; ``None``: of none."""
    shown = connection.getpeercert(binary_form=True)
    if shown is None:
        return None
    try:
        key = x509.load_der_x509_certificate(shown).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key.public_bytes_raw().hex() if isinstance(key, Ed25519PublicKey) else None


def fingerprint(home: Path) -> str:
    """Return the fingerprint that contacts of this machine pin.

    Raises:
        StateError: the file is unsafe, damaged, or cannot be made.
    """
    return server_context(home)[1]


def client_context() -> ssl.SSLContext:
    """Return a context that trusts nobody yet: the caller compares ``fits`` before it speaks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def fits(connection: ssl.SSLObject, pinned: str) -> bool:
    """Return whether the other side shows the pinned certificate (and so holds its key)."""
    shown = connection.getpeercert(binary_form=True)
    if shown is None:
        return False
    return hmac.compare_digest(hashlib.sha256(shown).hexdigest(), pinned)


def fingerprint_of(certificate: x509.Certificate) -> str:
    """Return the SHA-256 hex of a certificate's DER form."""
    der = certificate.public_bytes(serialization.Encoding.DER)
    return hashlib.sha256(der).hexdigest()


def _certificate(home: Path) -> bytes:
    path = home / TLS_FILE
    try:
        return read_private(path)
    except FileNotFoundError:
        create_private(path, _made(Ed25519PrivateKey.generate()))
        return read_private(path)


def _made(key: Ed25519PrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sayso exec")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + _LIFE)
        .sign(key, None)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def _load(context: ssl.SSLContext, text: bytes) -> None:
    """Load from memory: ``ssl`` reads files only, and the checked file's name could change."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
