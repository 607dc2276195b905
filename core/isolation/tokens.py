"""Define session tokens, with which an executor makes calls for one request of one session (S2).

A token is drawn for one Unix user, session and executor. It begins as many requests as it has uses
(one), is valid for that request's calls while the request lasts, and for nothing afterwards.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import SaysoError

_BYTES = 32
RATE, BURST = 50.0, 100.0
"""How many calls per second one token permits, and how many at once."""


class TokenRefused(SaysoError):
    """A session token was refused."""


_REMEMBERED_S = 3600.0
"""How long an expired token is remembered, so that its holder learns why it is refused."""

EXPIRED = "Token expired"
UNKNOWN = "Token unknown"
USED = "Token already used"
FOREIGN = "Token of another session"
TOO_MANY = "Too many calls"


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token is for: a Unix user, a session, one executor."""

    user: str
    session: str
    executor: str


@dataclass(slots=True)
class _Token:
    holder: Holder
    expires: float
    uses_left: int
    open: bool = False
    allowance: float = BURST
    refilled: float = 0.0


class SessionTokens:
    """The valid tokens, of which only hashes are kept. ``clock`` is monotonic."""

    def __init__(self, expiration_s: float, max_uses: int, clock: Callable[[], float]) -> None:
        self._expiration_s = expiration_s
        self._max_uses = max_uses
        self._clock = clock
        self._tokens: dict[bytes, _Token] = {}

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._tokens)

    def mint(self, holder: Holder) -> str:
        """Return a new token: 256 random bits."""
        now = self._clock()
        kept = now - _REMEMBERED_S
        self._tokens = {key: one for key, one in self._tokens.items() if one.expires > kept}
        token = secrets.token_urlsafe(_BYTES)
        self._tokens[_key(token)] = _Token(
            holder, now + self._expiration_s, self._max_uses, refilled=now
        )
        return token

    def begin(self, token: str, holder: Holder) -> None:
        """Use up a token to begin its request.

        Raises:
            TokenRefused: it is unknown, expired, used, or for another holder.
        """
        found = self._found(token, holder)
        if found.uses_left < 1:
            raise TokenRefused(USED)
        found.uses_left -= 1
        found.open = True

    def check(self, token: str, holder: Holder) -> None:
        """Let one call of a begun request pass.

        Raises:
            TokenRefused: as ``begin`` does; or too many calls came, or its request is over.
        """
        found = self._found(token, holder)
        if not found.open:
            raise TokenRefused(USED)
        now = self._clock()
        found.allowance = min(BURST, found.allowance + (now - found.refilled) * RATE)
        found.refilled = now
        if found.allowance < 1:
            raise TokenRefused(TOO_MANY)
        found.allowance -= 1

    def end(self, token: str) -> None:
        """Forget a token: its request is over."""
        self._tokens.pop(_key(token), None)

    def _found(self, token: str, holder: Holder) -> _Token:
        found = self._tokens.get(_key(token))
        if found is None:
            raise TokenRefused(UNKNOWN)
        if self._clock() >= found.expires:
            raise TokenRefused(EXPIRED)
        if found.holder != holder:
            raise TokenRefused(FOREIGN)
        return found


def _key(token: str) -> bytes:
    """Return the key for looking up a token, so that the time it takes reveals nothing about it."""
    return hashlib.sha256(token.encode(errors="replace")).digest()
