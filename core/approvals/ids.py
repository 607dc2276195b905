"""Generate approval ids."""

import secrets

from core.model.identity import ApprovalId

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26


def new_id() -> ApprovalId:
    """Return 128 random bits as 26 Crockford base32 characters, lower-case."""
    number = secrets.randbits(128)
    digits = (_CROCKFORD[(number >> shift) & 31] for shift in range(0, _LENGTH * 5, 5))
    return ApprovalId("".join(digits))
