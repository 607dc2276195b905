"""Run a push service on loopback, by RFC 8030, 8188, 8291 and 8292, and the browsers behind it.

It checks what real services check, and opens each message with the keys of its browser by the text
of the RFCs, without the library that made it. It answers 201, or what a test asked for.
"""

import base64
import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_bytes, token_hex
from threading import Thread
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_LARGEST = 4_096
_DAY_S = 86_400
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,32}")


def text_of(data: bytes) -> str:
    """Return bytes as base64url."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    """Return the bytes of a base64url text."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Phone:
    """A browser that has subscribed: its keys, and where its messages go."""

    endpoint: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    secret: bytes = field(default_factory=lambda: token_bytes(16))

    @property
    def point(self) -> bytes:
        """Return its public key."""
        return self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def fields(self) -> dict[str, str]:
        """Return what the browser sends to the page."""
        return {
            "endpoint": self.endpoint,
            "p256dh": text_of(self.point),
            "auth": text_of(self.secret),
        }

    def opened(self, body: bytes) -> bytes:
        """Open a message (RFC 8291 section 3.4, RFC 8188 section 2)."""
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        shared = self.private.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        about = b"WebPush: info\0" + self.point + sender
        ikm = HKDF(SHA256(), 32, self.secret, about).derive(shared)
        prk = HKDF.extract(SHA256(), salt, ikm)
        key = HKDFExpand(SHA256(), 16, b"Content-Encoding: aes128gcm\0").derive(prk)
        nonce = HKDFExpand(SHA256(), 12, b"Content-Encoding: nonce\0").derive(prk)
        padded = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        assert padded[-1:] == b"\2", "the last record ends so"
        return padded[:-1]


@dataclass(frozen=True)
class Pushed:
    """An accepted message: what the service saw of it, and what the browser reads."""

    path: str
    ttl: int
    topic: str
    urgency: str
    key: str
    body: bytes
    note: dict[str, Any]


@dataclass
class PushService:
    """The service: its browsers by path, what it accepted, what it refused and why."""

    url: str = ""
    phones: dict[str, Phone] = field(default_factory=dict)
    taken: list[Pushed] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """What to answer next instead of 201; the message is then not accepted."""
    bodies: list[tuple[dict[str, str], Iterable[bytes]]] = field(default_factory=list)
    """Headers and body of the next answers, regardless of their status; without a length."""
    written: int = 0
    """Bytes of the written bodies."""

    def subscribe(self) -> Phone:
        """Return a browser that has subscribed here."""
        path = f"/push/{token_hex(16)}"
        made = self.phones[path] = Phone(self.url + path)
        return made

    def notes(self, phone: Phone) -> list[dict[str, Any]]:
        """Return what a browser was shown."""
        return [one.note for one in self.taken if self.url + one.path == phone.endpoint]

    def fault(self, path: str, headers: Any, body: bytes) -> tuple[int, str]:
        """Return why a message is refused, with its status; 0 if it is not."""
        if path not in self.phones:
            return 410, "no such browser"
        if headers.get("Content-Encoding") != "aes128gcm":
            return 400, "Content-Encoding"
        if not headers.get("TTL", "").isdigit():
            return 400, "TTL"
        if not _TOPIC.fullmatch(headers.get("Topic", "")):
            return 400, "Topic"
        if headers.get("Cookie") or headers.get("Referer"):
            return 400, "more than it needs to know"
        wrong = _vapid_fault(headers.get("Authorization", ""), self.url)
        return (403, wrong) if wrong else (0, "")

    def take(self, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str]]:
        """Take a message, as a service answers."""
        if self.answers:
            return self.answers.pop(0)
        status, why = self.fault(path, headers, body)
        if status:
            self.refused.append(why)
            return status, {}
        note = json.loads(self.phones[path].opened(body))
        key = headers["Authorization"].partition("k=")[2]
        taken = Pushed(
            path, int(headers["TTL"]), headers["Topic"], headers["Urgency"], key, body, note
        )
        self.taken.append(taken)
        return 201, {"Location": f"/message/{token_hex(8)}"}


def _vapid_fault(header: str, origin: str) -> str:
    """Return what is wrong with the signature of a message (RFC 8292)."""
    match = re.fullmatch(r"vapid t=([\w-]+)\.([\w-]+)\.([\w-]+),\s*k=([\w-]+)", header)
    if match is None:
        return "no VAPID header"
    head, claims, signature, key = match.groups()
    raw = bytes_of(signature)
    numbers = (int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes_of(key))
    try:
        signed = f"{head}.{claims}".encode()
        point.verify(encode_dss_signature(*numbers), signed, ec.ECDSA(SHA256()))
    except InvalidSignature:
        return "the signature"
    said = json.loads(bytes_of(claims))
    if json.loads(bytes_of(head)) != {"typ": "JWT", "alg": "ES256"}:
        return "the algorithm"
    if said["aud"] != origin:
        return "the audience"
    if not time.time() < said["exp"] <= time.time() + _DAY_S:
        return "the time"
    return "" if said["sub"].startswith(("mailto:", "https://")) else "the contact"


@contextmanager
def push_service() -> Iterator[PushService]:
    """Run a push service for as long as the block lasts."""
    service = PushService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(min(size, _LARGEST + 1))
            large = (413, dict[str, str]())
            status, more = large if size > _LARGEST else service.take(self.path, self.headers, body)
            with_body = bool(service.bodies)
            about, body_of = service.bodies.pop(0) if with_body else ({"Content-Length": "0"}, ())
            self.send_response(status)
            for name, value in {**more, **about}.items():
                self.send_header(name, value)
            self.end_headers()
            self.close_connection = self.close_connection or with_body
            with suppress(OSError):
                for piece in body_of:
                    self.wfile.write(piece)
                    service.written += len(piece)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
