"""Prove by a passkey what it signed, on its page, by its person; and nothing else."""

import json

import pytest

from core.trust.passkeys import (
    NotProven,
    RelyingParty,
    approval_challenge,
    check,
    plain_challenge,
    registered,
    relying_party,
    signed_of,
)
from tests.support.passkey_device import UP, PasskeyDevice, encoded
from tests.support.tables import rows

PAGE = RelyingParty("sayso.example", "https://sayso.example")
ASKED = ("a1", "d" * 64, "allow-once", "", "0" * 32)


@rows(
    "url, party",
    [
        ("https://sayso.example", PAGE),
        ("https://Sayso.Example:443/", PAGE),
        ("http://localhost:80", RelyingParty("localhost", "http://localhost")),
        ("https://sayso.example:8443", RelyingParty(PAGE.id, "https://sayso.example:8443")),
        ("http://127.0.0.1:8791", RelyingParty("localhost", "http://localhost:8791")),
        ("http://localhost:8791", RelyingParty("localhost", "http://localhost:8791")),
        ("http://[::1]:8791", RelyingParty("localhost", "http://localhost:8791")),
        ("http://sayso.example", None),
        ("https://192.0.2.7", None),
        ("", None),
    ],
)
def test_passkeys_are_for_one_name_and_origin(url: str, party: RelyingParty | None) -> None:
    """A name over HTTPS, or this machine."""
    assert relying_party(url) == party


def test_each_thing_that_is_signed_changes_the_challenge() -> None:
    """So a signature for one says nothing about another; nor can two parts be combined."""
    others = [
        ("a2", *ASKED[1:]),
        (ASKED[0], "e" * 64, *ASKED[2:]),
        (*ASKED[:2], "allow-always", *ASKED[3:]),
        (*ASKED[:3], "30m", ASKED[4]),
        (*ASKED[:4], "1" * 32),
        (ASKED[0] + ASKED[1], "", *ASKED[2:]),
    ]
    assert len({approval_challenge(*one) for one in (ASKED, *others)}) == 7
    assert plain_challenge("sign in", "0" * 32) != plain_challenge("register:x", "0" * 32)


def test_what_was_signed_here_by_its_person_counts() -> None:
    """And its count is the next to be exceeded; the control of what follows."""
    device, challenge = PasskeyDevice(), approval_challenge(*ASKED)
    signed = device.sign(challenge, PAGE)
    assert check(signed, challenge, PAGE, device.public_key, 0) == 1
    with pytest.raises(NotProven, match="count"):
        check(signed, challenge, PAGE, device.public_key, 1)


def test_all_else_does_not() -> None:
    """Another challenge, name, origin or key; no user verification; nonsense for a key."""
    device, challenge = PasskeyDevice(), approval_challenge(*ASKED)
    signed = device.sign(challenge, PAGE)
    key = device.public_key
    other_name = RelyingParty("evil.example", PAGE.origin)
    other_origin = RelyingParty(PAGE.id, "https://sayso.example:1")
    unseen = device.sign(challenge, PAGE, UP)
    for one, wanted, party, public_key in (
        (signed, plain_challenge("sign in", ASKED[4]), PAGE, key),
        (signed, challenge, other_name, key),
        (signed, challenge, other_origin, key),
        (signed, challenge, PAGE, PasskeyDevice().public_key),
        (unseen, challenge, PAGE, key),
        (signed, challenge, PAGE, encoded(b"no key")),
        (signed, challenge, PAGE, encoded(b"\x80")),
    ):
        with pytest.raises(NotProven):
            check(one, wanted, party, public_key, 0)


@pytest.mark.parametrize("text", ["", "{}", "null", "[1]", "7", '{"id": "a!"}', "[" * 9_999])
def test_what_is_malformed_is_refused(text: str) -> None:
    """Of both kinds of answers, in a sentence."""
    with pytest.raises(NotProven):
        signed_of(text)
    with pytest.raises(NotProven):
        registered(text, b"challenge", PAGE)
    with pytest.raises(NotProven):
        signed_of(json.dumps({"id": "a", "response": {"clientDataJSON": "a" * 20_000}}))


@pytest.mark.parametrize("data", [b"null", b"[]", b"7", b"\xff", b"{", b"[" * 4_000])
def test_client_data_that_is_malformed_is_refused(data: bytes) -> None:
    """Of both kinds of answers, like the rest: by a sentence, not by an error of the gateway's."""
    device = PasskeyDevice()
    signed = device.sign(b"challenge", PAGE).model_copy(update={"client_data": encoded(data)})
    with pytest.raises(NotProven, match="malformed"):
        check(signed, b"challenge", PAGE, device.public_key, 0)
    made = {"id": "YQ", "rawId": "YQ", "type": "public-key"}
    made_of = {"clientDataJSON": encoded(data), "attestationObject": "YQ"}
    with pytest.raises(NotProven, match="malformed"):
        registered(json.dumps({**made, "response": made_of}), b"challenge", PAGE)
