"""Check passkeys (WebAuthn level 2), and format what one signs when it allows a command.

What allows is a signature over the approval, the digest of its plan, the answer and a nonce, so it
is of no use for anything else. Whoever has the public key can check it: the gateway, which keeps
the key of each person, and a node that was given some (``core.nodes``).
"""

import base64
import hashlib
import ipaddress
import json
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_MOST: Final = 16_384
_TIMEOUT_MS: Final = 120_000
_SIGNED: Final = "sayso-approve-v1"
_OWN_PORTS: Final = {"https": 443, "http": 80}
_Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,6000}$")]


class NotProven(ValueError):
    """A passkey's answer does not prove what it should; one sentence says why."""


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """Whom passkeys are made for: the name of the page's host, and its one origin."""

    id: str
    origin: str


class Signed(BaseModel):
    """What an authenticator returned, in URL-safe base64: it travels and is kept as it came."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    passkey: _Base64
    client_data: _Base64
    authenticator_data: _Base64
    signature: _Base64


class PasskeyProof(BaseModel):
    """That a person allowed one approval with a passkey, and the rest of what was signed."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    reply: Annotated[str, Field(pattern=r"^allow-(once|always)$")]
    limit: Annotated[str, Field(max_length=20)] = ""
    signed: Signed


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """A passkey that an authenticator has just made; both in URL-safe base64."""

    id: str
    public_key: str
    sign_count: int


def relying_party(url: str) -> RelyingParty | None:
    """Return whom passkeys of a page are for; ``None`` where browsers make none.

    They make them for a name over HTTPS, and for ``localhost``, which an address of loopback is
    opened as; for no other address.
    """
    parts = urlsplit(url)
    name = parts.hostname or ""
    # Browsers leave a scheme's own port out of an origin.
    port = f":{parts.port}" if parts.port not in {None, _OWN_PORTS.get(parts.scheme)} else ""
    try:
        if not ipaddress.ip_address(name).is_loopback:
            return None
        name = "localhost"
    except ValueError:
        pass
    if not name or (parts.scheme != "https" and name != "localhost"):
        return None
    return RelyingParty(name, f"{parts.scheme}://{name}{port}")


def approval_challenge(approval: str, digest: str, reply: str, limit: str, nonce: str) -> bytes:
    """Return what a passkey signs to allow one approval of one plan in one way."""
    text = json.dumps([_SIGNED, approval, digest, reply, limit, nonce])
    return hashlib.sha256(text.encode()).digest()


def plain_challenge(purpose: str, nonce: str) -> bytes:
    """Return what a passkey signs for another purpose: to sign in, or to be registered."""
    return hashlib.sha256(json.dumps(["sayso-page-v1", purpose, nonce]).encode()).digest()


def signed_of(text: str) -> Signed:
    """Return what a browser sent of an authenticator's answer.

    Raises:
        NotProven: it is malformed.
    """
    try:
        found = json.loads(text) if len(text) <= _MOST else {}
        return Signed(
            passkey=found["id"],
            client_data=found["response"]["clientDataJSON"],
            authenticator_data=found["response"]["authenticatorData"],
            signature=found["response"]["signature"],
        )
    except (ValueError, KeyError, TypeError, ValidationError, RecursionError):
        raise NotProven("the passkey's answer is malformed") from None


def check(
    signed: Signed, challenge: bytes, party: RelyingParty, public_key: str, sign_count: int
) -> int:
    """Return the new count of a passkey that signed this challenge, on this page, by its person.

    The person must have been verified (PIN, finger, face). A count that does not grow is that of a
    copy, or of an answer that came before.

    Raises:
        NotProven: it did not.
    """
    from webauthn import verify_authentication_response  # noqa: PLC0415 - 200 ms that only a passkey needs
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415 - the same

    credential = {
        "id": signed.passkey,
        "rawId": signed.passkey,
        "type": "public-key",
        "response": {
            "clientDataJSON": signed.client_data,
            "authenticatorData": signed.authenticator_data,
            "signature": signed.signature,
        },
    }
    _own_frame(signed.client_data)
    try:
        done = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=_bytes(public_key),
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, LookupError, TypeError) as error:
        raise NotProven(str(error) or "the passkey's answer is malformed") from None
    return done.new_sign_count


def registered(text: str, challenge: bytes, party: RelyingParty) -> NewPasskey:
    """Return the passkey that an authenticator made for this challenge, on this page.

    Raises:
        NotProven: it made none, or not this way.
    """
    from webauthn import verify_registration_response  # noqa: PLC0415 - as in ``check``
    from webauthn.helpers.exceptions import WebAuthnException  # noqa: PLC0415 - the same

    try:
        found = json.loads(text) if len(text) <= _MOST else {}
        _own_frame(found["response"]["clientDataJSON"])
        made = verify_registration_response(
            credential=found,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotProven(str(error) or "the passkey's answer is malformed") from None
    return NewPasskey(_text(made.credential_id), _text(made.credential_public_key), made.sign_count)


def creation_options(
    party: RelyingParty, person: str, challenge: bytes, known: tuple[str, ...]
) -> dict[str, Any]:
    """Return what a browser needs to have a passkey made, as JSON; ``known`` are not made twice."""
    handle = hashlib.sha256(f"sayso-person\0{person}".encode()).digest()
    return {
        "rp": {"id": party.id, "name": "Sayso"},
        "user": {"id": _text(handle), "name": person, "displayName": person},
        "challenge": _text(challenge),
        "pubKeyCredParams": [{"type": "public-key", "alg": alg} for alg in (-8, -7, -257)],
        "timeout": _TIMEOUT_MS,
        "attestation": "none",
        "excludeCredentials": [{"type": "public-key", "id": one} for one in known],
        "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
    }


def request_options(
    party: RelyingParty, challenge: bytes, known: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what a browser needs to have a challenge signed, as JSON; by ``known`` or by any."""
    return {
        "rpId": party.id,
        "challenge": _text(challenge),
        "timeout": _TIMEOUT_MS,
        "userVerification": "required",
        "allowCredentials": [{"type": "public-key", "id": one} for one in known],
    }


def _own_frame(client_data: str) -> None:
    """Refuse what was signed inside a frame of another site, or is not client data."""
    try:
        crossed = json.loads(_bytes(client_data)).get("crossOrigin")
    except (ValueError, AttributeError, TypeError, RecursionError):
        raise NotProven("the passkey's answer is malformed") from None
    if crossed:
        raise NotProven("it was signed in a frame of another site")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
