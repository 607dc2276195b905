"""Make and check codes of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds).

A code is good once: whoever checks it keeps the step that it belongs to, and takes later ones only.
"""

from typing import Final

import pyotp

STEP_MS: Final = 30_000
_SLACK: Final = 1
"""How many steps a phone's clock may be early or late."""
_DIGITS: Final = 6


def new_secret() -> str:
    """Draw the secret of one app: 160 random bits in base32."""
    return pyotp.random_base32()


def uri(secret: str, person: str) -> str:
    """Return what an app reads as a QR code or a link."""
    return pyotp.TOTP(secret).provisioning_uri(name=person, issuer_name="Sayso")


def matching_step(secret: str, code: str, at_ms: int) -> int | None:
    """Return the step that a code belongs to, one early or late included; ``None`` if to none."""
    if len(code) != _DIGITS or not (code.isascii() and code.isdigit()):
        return None
    now, app = at_ms // STEP_MS, pyotp.TOTP(secret)
    steps = range(now - _SLACK, now + _SLACK + 1)
    matching = [step for step in steps if app.verify(code, for_time=step * STEP_MS // 1000)]
    return max(matching, default=None)
