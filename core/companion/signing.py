"""Prove the knowledge of the socket's token without sending it (S0 "Socket auth").

A signature covers the purpose of a frame, the nonce of its connection and what the frame decides,
so none counts on another connection, for another plan or in another direction.
"""

import hashlib
import hmac
from enum import StrEnum

_PROTOCOL = "sayso-companion-1"


class Purpose(StrEnum):
    """What a signature is for; part of what is signed."""

    REQUEST = "request"
    READY = "ready"
    SHOWN = "shown"
    ANSWER = "answer"
    TAKEN = "taken"
    RESULT = "result"


def sign(token: str, purpose: Purpose, *parts: str) -> str:
    """Return the HMAC-SHA256 over the purpose and its parts, one per line, in lower-case hex."""
    message = "\n".join((_PROTOCOL, purpose, *parts))
    return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()


def sign_request(token: str, nonce: str, ts: int, request_json: str) -> str:
    """Return the signature of a request; ``ts`` is epoch ms."""
    digest = hashlib.sha256(request_json.encode()).hexdigest()
    return sign(token, Purpose.REQUEST, nonce, str(ts), digest)


def sign_result(token: str, nonce: str, run_id: str, digest: str, result_json: str) -> str:
    """Return the signature of how a run ended."""
    content = hashlib.sha256(result_json.encode()).hexdigest()
    return sign(token, Purpose.RESULT, nonce, run_id, digest, content)


def is_signed(signature: str, expected: str) -> bool:
    """Return whether two signatures are the same, in a time that does not depend on where."""
    return hmac.compare_digest(signature.encode(), expected.encode())
