"""Report how long each write of a store took."""

import time
from collections.abc import Callable
from typing import Concatenate

from sqlalchemy import Connection

from core.store.engine.protocol import Listener, P, Store, T


class TimedStore:
    """A store that reports to ``heard`` the seconds of each write, from the call to the commit."""

    def __init__(self, store: Store, heard: Callable[[float], None]) -> None:
        self._store, self._heard = store, heard

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation in one guarded transaction; return after its commit.

        Raises:
            StoreFull: the disk is full.
            StoreError: the database failed.
        """
        began = time.perf_counter()
        try:
            return await self._store.write(op, *args, **kwargs)
        finally:
            self._heard(time.perf_counter() - began)

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that only reads.

        Raises:
            StoreError: the database failed.
        """
        return await self._store.read(op, *args, **kwargs)

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that reads for long.

        Raises:
            StoreError: the database failed.
        """
        return await self._store.read_beside(op, *args, **kwargs)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each wake-up; return what unsubscribes it."""
        return self._store.subscribe(listener)

    async def close(self) -> None:
        """Release the database."""
        await self._store.close()
