"""Log once that the database is away and once that it is back; further failures only count."""

import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Concatenate

from sqlalchemy import Connection

from core.errors import StoreAway
from core.store.engine.protocol import Listener, P, Store, T

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outage:
    """Whether the database is away, since when, and how many operations failed meanwhile.

    A disk may still be readable when it takes no writes, so a reading does not end an outage in
    which a write failed. ``now`` returns seconds.
    """

    now: Callable[[], float] = time.monotonic
    _since: float | None = None
    _last: float = 0.0
    _back: float = 0.0
    _failed: int = 0
    _writes: bool = False

    def failed(self, error: StoreAway, began: float, *, write: bool) -> None:
        """Count a failure of an operation that began at ``began``; the first one is logged.

        One that began in an outage which is over was retried until then, and is not a new one.
        """
        if self._since is None and began < self._back:
            return
        self._last = self.now()
        if self._since is None:
            self._since, self._failed, self._writes = self._last, 0, False
            # In words: a record that carries the error itself is left out of the log.
            words = "The database is unavailable; further failures are counted. First error: %s"
            _log.error(words, str(error))
        self._failed += 1
        self._writes |= write

    def worked(self, began: float, *, write: bool) -> None:
        """Note that an operation which began at ``began`` worked; the first one is logged."""
        if self._since is None or began < self._last or (self._writes and not write):
            return
        self._end("The database is available again after %.1f s; %d operations failed meanwhile.")

    def close(self) -> None:
        """Log what was counted if the gateway stops before the database is back."""
        if self._since is not None:
            self._end("The database did not come back within %.1f s; %d operations failed.")

    def _end(self, words: str) -> None:
        assert self._since is not None  # noqa: S101 - both callers have looked
        self._back = self.now()
        _log.warning(words, self._back - self._since, self._failed)
        self._since = None


@dataclass(frozen=True, slots=True)
class WatchedStore:
    """A store whose outages are logged here, so that nobody else needs to."""

    store: Store
    outage: Outage = field(default_factory=Outage)

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation in one guarded transaction; return after its commit.

        Raises:
            StoreFull: the disk is full.
            StoreAway: the database cannot be reached or used at present.
            StoreError: the database failed.
        """
        began = self.outage.now()
        try:
            result = await self.store.write(op, *args, **kwargs)
        except StoreAway as error:
            self.outage.failed(error, began, write=True)
            raise
        self.outage.worked(began, write=True)
        return result

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that only reads.

        Raises:
            StoreAway: the database cannot be reached or used at present.
            StoreError: the database failed.
        """
        return await self._noted(self.store.read(op, *args, **kwargs))

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that reads for long.

        Raises:
            StoreAway: the database cannot be reached or used at present.
            StoreError: the database failed.
        """
        return await self._noted(self.store.read_beside(op, *args, **kwargs))

    async def _noted(self, reading: Coroutine[object, object, T]) -> T:
        began = self.outage.now()
        try:
            result = await reading
        except StoreAway as error:
            self.outage.failed(error, began, write=False)
            raise
        self.outage.worked(began, write=False)
        return result

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each wake-up; return what unsubscribes it."""
        return self.store.subscribe(listener)

    async def close(self) -> None:
        """Release the database."""
        self.outage.close()
        await self.store.close()
