"""Keep a run on a short lease: a client that stops renewing it loses the run (S4)."""

import asyncio
from enum import StrEnum

LEASE_MS = 15_000


class LeaseEnd(StrEnum):
    """Why a lease ended before its run did."""

    CANCELLED = "cancelled"
    LEASE_EXPIRED = "lease_expired"
    HOST_STOPPING = "host_stopping"


class Lease:
    """A right that ends on its own; ``over`` resolves with the reason, once."""

    def __init__(self, length_ms: int = LEASE_MS) -> None:
        self.length_ms = length_ms
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[LeaseEnd] = self._loop.create_future()
        self._timer = self._later()

    def renew(self) -> None:
        """Renew, unless it is over."""
        if not self.over.done():
            self._timer.cancel()
            self._timer = self._later()

    def end(self, why: LeaseEnd) -> None:
        """End it now; the first reason counts."""
        self._timer.cancel()
        if not self.over.done():
            self.over.set_result(why)

    def release(self) -> None:
        """Forget it: the run has ended on its own."""
        self._timer.cancel()
        self.over.cancel()

    @property
    def ended(self) -> LeaseEnd | None:
        """Return why it ended, ``None`` while it holds or when its run ended first."""
        return self.over.result() if self.over.done() and not self.over.cancelled() else None

    def _later(self) -> asyncio.TimerHandle:
        return self._loop.call_later(self.length_ms / 1000, self.end, LeaseEnd.LEASE_EXPIRED)
