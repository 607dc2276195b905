"""The tests' push service refuses what real ones refuse; each fault is next to a valid message."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pywebpush import WebPusher

from tests.emulators.web_push import PushService, push_service, text_of

KEY, OTHER = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    """Run a push service."""
    with push_service() as running:
        yield running


def _header(service: PushService, signer: ec.EllipticCurvePrivateKey = KEY, **change: Any) -> str:
    claims = {"aud": service.url, "exp": int(time.time()) + 600, "sub": "mailto:a@b.example"}
    parts = ({"typ": "JWT", "alg": "ES256"}, claims | change)
    words = ".".join(text_of(json.dumps(one).encode()) for one in parts)
    numbers = decode_dss_signature(signer.sign(words.encode(), ec.ECDSA(SHA256())))
    signature = text_of(b"".join(one.to_bytes(32, "big") for one in numbers))
    point = KEY.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return f"vapid t={words}.{signature},k={text_of(point)}"


def _send(service: PushService, **headers: str) -> httpx.Response:
    phone = service.subscribe()
    keys = {name: phone.fields[name] for name in ("p256dh", "auth")}
    body = WebPusher({"endpoint": phone.endpoint, "keys": keys}).encode(b'{"a": 1}')["body"]
    right = {
        "Authorization": _header(service),
        "TTL": "60",
        "Topic": "a",
        "Urgency": "high",
        "Content-Encoding": "aes128gcm",
    }
    sent = {name: value for name, value in (right | headers).items() if value}
    return httpx.post(phone.endpoint, content=body, headers=sent)


def test_a_right_message_is_opened(service: PushService) -> None:
    """By the RFC's text, and not by the library that sealed it."""
    assert _send(service).status_code == 201
    assert service.taken[-1].note == {"a": 1}
    assert service.taken[-1].ttl == 60


_WRONG: dict[str, tuple[int, dict[str, Any]]] = {
    "another key": (403, {"signer": OTHER}),
    "another audience": (403, {"aud": "https://push.example"}),
    "too late": (403, {"exp": 1}),
    "too long": (403, {"exp": int(time.time()) + 200_000}),
    "no contact": (403, {"sub": "somebody"}),
}


@pytest.mark.parametrize("kind", _WRONG)
def test_a_wrong_signature_is_refused(service: PushService, kind: str) -> None:
    """With the status of real services."""
    status, change = _WRONG[kind]
    assert _send(service, Authorization=_header(service, **change)).status_code == status


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Authorization", "", 403),
        ("Authorization", base64.b64encode(b"x").decode(), 403),
        ("TTL", "", 400),
        ("Topic", "x" * 33, 400),
        ("Content-Encoding", "aesgcm", 400),
        ("Cookie", "a=b", 400),
    ],
)
def test_a_wrong_header_is_refused(
    service: PushService, name: str, value: str, status: int
) -> None:
    """So are headers that no server should send."""
    assert _send(service, **{name: value}).status_code == status


def test_what_is_too_large_or_for_nobody_is_refused(service: PushService) -> None:
    """With 413 and 410."""
    phone = service.subscribe()
    assert httpx.post(phone.endpoint, content=b"x" * 5_000).status_code == 413
    assert httpx.post(f"{service.url}/push/none").status_code == 410
