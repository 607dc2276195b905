"""Hold the key of web push, and the keys that browsers bring."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from core.trust.vapid import are_browser_keys, new_key, public_key
from tests.emulators.web_push import Phone, bytes_of, text_of


def test_a_key_is_new_and_its_point_is_of_the_curve() -> None:
    """As browsers take it: 65 bytes, uncompressed."""
    first, second = new_key(), new_key()
    assert first != second
    point = bytes_of(public_key(first))
    assert (len(bytes_of(first)), len(point), point[0]) == (32, 65, 4)
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p256dh", ""),
        ("p256dh", "BA"),
        ("p256dh", "!"),
        ("auth", "AA"),
        ("auth", ""),
        ("auth", "é"),
    ],
)
def test_other_keys_than_a_browsers_are_refused(name: str, text: str) -> None:
    """A point off the curve, too few bytes, not base64; the browser's own are accepted."""
    own = Phone("https://push.example/1").fields
    assert are_browser_keys(own["p256dh"], own["auth"])
    wrong = own | {name: text}
    assert not are_browser_keys(wrong["p256dh"], wrong["auth"])
    point = bytes_of(own["p256dh"])
    short = text_of(bytes([2 + point[64] % 2]) + point[1:33])
    assert not are_browser_keys(short, own["auth"])
    flipped = own["p256dh"][:-2] + ("AA" if own["p256dh"][-2:] != "AA" else "BA")
    assert not are_browser_keys(flipped, own["auth"])
