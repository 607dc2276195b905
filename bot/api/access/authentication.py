"""Find out who calls: a bearer token in a header, re-checked on every action."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.types import Scope

from bot.api.http.bodies import header
from bot.api.http.client import client_of
from bot.api.http.errors import Fault, FaultCode, too_many
from bot.api.http.rate_limits import Buckets, Slots
from bot.intake.callers.caller import Caller
from core.errors import StoreError, Unauthenticated
from core.model.identity import Intake
from core.store import Store
from core.store.engine.clock import wall_ms
from core.store.engine.wakeups import wakeups
from core.store.people import tokens

_log = logging.getLogger(__name__)
Check = Callable[[str, Intake], Awaitable[Caller]]
"""Return the caller that a token represents now, or raise ``Unauthenticated``."""
PROTOCOL = "sayso.v1"
"""The WebSocket subprotocol that is spoken, and that browsers must offer with the token."""
_BEARER = "bearer "
_IN_PROTOCOL = "bearer."
_LONGEST_TOKEN = 512
_PENALTY_S = 1.0
_MOST_PENALTIES = 32
_FAILURES_A_SECOND = 0.2
_FRESH_S = 0.25
_LOOK_AGAIN_S: Final = 1.0
"""Delay before the next check if the store, whose clock decides, is behind or fails."""


@dataclass(frozen=True, slots=True)
class Login:
    """A token that was sent; ``caller`` returns whom it represents now."""

    _token: str = field(repr=False)
    _intake: Intake
    _check: Check = field(repr=False)

    async def caller(self) -> Caller:
        """Return the caller.

        Raises:
            Unauthenticated: the token is unknown, expired or revoked.
        """
        return await self._check(self._token, self._intake)

    async def after(self, caller: Caller, began: float) -> Caller:
        """Return the caller, checked again where what it sent began to arrive long before (s).

        A client may take seconds to send a body, in which its token may end.

        Raises:
            Unauthenticated: the token has expired or was revoked.
        """
        return caller if time.monotonic() - began < _FRESH_S else await self.caller()


@dataclass(slots=True)
class Recent:
    """Whom a token represents, checked again while something is streamed to its holder.

    A result is reused for a quarter of a second, so that a command that prints a lot does not query
    the store for each line.
    """

    login: Login
    _caller: Caller | None = None
    _until: float = 0.0

    async def caller(self) -> Caller:
        """Return the caller as of at most 250 ms ago.

        Raises:
            Unauthenticated: the token has expired or was revoked.
        """
        if self._caller is None or time.monotonic() >= self._until:
            self._caller = await self.login.caller()
            self._until = time.monotonic() + _FRESH_S
        return self._caller


@dataclass(slots=True)
class Authenticator:
    """Let in callers with a token. Failures from an address slow its further failures.

    A valid token is never slowed by them: otherwise, callers who share an address with a guesser
    (on loopback: everybody) would be locked out.
    """

    check: Check
    failures: int
    _failed: Buckets = field(init=False)
    _penalties: Slots = field(default_factory=lambda: Slots(_MOST_PENALTIES))

    def __post_init__(self) -> None:
        """Start the counts."""
        self._failed = Buckets(_FAILURES_A_SECOND, self.failures)

    async def open(self, scope: Scope, intake: Intake) -> tuple[Login, Caller]:
        """Return the caller.

        Raises:
            Fault: no valid token was sent.
        """
        token = token_of(scope)
        if token is None:
            raise await self._failure(scope, "No token was sent.")
        login = Login(token, intake, self.check)
        try:
            return login, await login.caller()
        except Unauthenticated as error:
            raise await self._failure(scope, str(error)) from None

    async def _failure(self, scope: Scope, words: str) -> Fault:
        wait = self._failed.take(client_of(scope).key, time.monotonic())
        if not wait:
            return Fault(FaultCode.UNAUTHORISED, words, {"WWW-Authenticate": "Bearer"})
        if self._penalties.enter():
            try:
                await asyncio.sleep(_PENALTY_S)
            finally:
                self._penalties.leave()
        return too_many(wait)


def token_of(scope: Scope) -> str | None:
    """Return the token of a request, from the headers only; ``None`` if it has none.

    Raises:
        Fault: the header is present twice.
    """
    value = (header(scope, b"authorization") or b"").decode("latin-1")
    if value[: len(_BEARER)].lower() == _BEARER:
        return _fitting(value[len(_BEARER) :].strip())
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(_IN_PROTOCOL):
            return _fitting(offered.removeprefix(_IN_PROTOCOL))
    return None


def _fitting(token: str) -> str | None:
    fits = 0 < len(token) <= _LONGEST_TOKEN and token.isascii() and token.isprintable()
    return token if fits else None


async def token_end(store: Store, login: Login) -> Unauthenticated:
    """Wait until a token is no longer valid, and return why; nothing is queried in the meantime."""
    with wakeups(store, tokens.CHANGED) as changed:
        while True:
            try:
                seconds = await _left(login)
            except Unauthenticated as ended:
                return ended
            await changed.wait(seconds)


async def _left(login: Login) -> float | None:
    """Return the seconds until a token has to be checked again, ``None`` if it never expires."""
    try:
        until_ms = (await login.caller()).until_ms
    except StoreError as failure:
        _log.warning("cannot check whether a token is still valid: %s", failure)
        return _LOOK_AGAIN_S
    if until_ms is None:
        return None
    left = (until_ms - wall_ms()) / 1000
    return left if left > 0 else _LOOK_AGAIN_S
