"""Show the codes of an authenticator app."""

import pyotp


def code_at(secret: str, at_ms: int) -> str:
    """Return the code that an app shows at a time in epoch ms."""
    return pyotp.TOTP(secret).at(at_ms // 1000)
