"""Use what is left of a bucket, wait briefly for an empty one, leave a long wait to the outbox.

The library refuses a call whose bucket resets late even if it has calls left (that of new threads
resets after minutes), and lets the last call of a bucket return only once it has reset.
"""

import asyncio
from contextlib import suppress
from types import TracebackType

import aiohttp
from discord import RateLimited
from discord.http import HTTPClient, Ratelimit

LONGEST_WAIT_S = 10.0
"""Seconds that a call waits for its bucket, or as Discord asks, before it is put off."""


class Bucket(Ratelimit):
    """One bucket: what is left of it, what is under way, and when it resets."""

    __slots__ = ()

    async def acquire(self) -> None:
        """Take one call.

        Raises:
            RateLimited: none is left, and the next ones come in more than ``LONGEST_WAIT_S``.
        """
        self._last_request = self._loop.time()
        while not self._has_room():
            await self._change()
        self.remaining -= 1
        self.outgoing += 1

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        """Adopt the state from a response, which does not count calls under way yet."""
        super().update(response, use_clock=use_clock)
        self.remaining = min(self.remaining, self.limit - self.outgoing)

    async def __aexit__(
        self,
        type: type[BaseException] | None,  # noqa: A002 - the library's signature
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Release the place of a call."""
        self.outgoing -= 1
        if isinstance(value, RateLimited):
            self.remaining, self.expires = 0, self._loop.time() + value.retry_after
        elif self.expires is None:
            self.reset()  # type: ignore[no-untyped-call] # an answer without limits: one call at a time
        self._wake(len(self._pending_requests))

    def _has_room(self) -> bool:
        if self.is_expired():
            self.reset()  # type: ignore[no-untyped-call] # the SDK's
        return self.remaining > 0

    async def _change(self) -> None:
        """Wait until the bucket resets, or a call under way ends."""
        wait = None if self.expires is None else max(0.0, self.expires - self._loop.time())
        if wait is not None and wait > LONGEST_WAIT_S:
            raise RateLimited(wait)
        turn = self._loop.create_future()
        self._pending_requests.append(turn)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await turn
        finally:
            turn.cancel()
            with suppress(ValueError):
                self._pending_requests.remove(turn)


class Buckets(dict[str, Ratelimit]):
    """The buckets of one client, created on demand; idle ones are forgotten."""

    _MOST = 256

    def __missing__(self, key: str) -> Ratelimit:
        if len(self) >= self._MOST:
            for idle in [name for name, bucket in self.items() if bucket.is_inactive()]:
                del self[idle]
        self[key] = made = Bucket(LONGEST_WAIT_S)
        return made


def keep_limits(http: HTTPClient) -> None:
    """Make the calls of a client wait as this module defines."""
    http._buckets = Buckets()  # noqa: SLF001 - the library offers only the refusal
    http.max_ratelimit_timeout = LONGEST_WAIT_S
