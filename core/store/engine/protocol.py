"""Define what every engine offers; only the runners behind it know which engine it is."""

import logging
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

P = ParamSpec("P")
T = TypeVar("T")
Listener = Callable[[str], None]
_log = logging.getLogger(__name__)
CLOSED: Final = "The store is closed: the gateway is stopping. Nothing ran."


class Store(Protocol):
    """A durable store. Operations are plain functions ``op(conn, …)`` of ``core.store``."""

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation in one guarded transaction; return after its commit.

        The caller's cancellation does not undo it.

        Raises:
            StoreFull: the disk is full.
            StoreError: the database failed; on PostgreSQL a commit may be in doubt, so repeat
                the call with the same idempotency key.
        """

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that only reads, on a snapshot of what is committed.

        Raises:
            StoreError: the database failed.
        """

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation that reads for long, as ``read``; no other waits for it.

        Raises:
            StoreError: the database failed.
        """

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` in the event loop with each wake-up; return what unsubscribes it.

        Wake-ups may be lost; ``resync`` says that some were: check everything once.
        """

    async def close(self) -> None:
        """Finish what was submitted, then release the database. May be called twice."""


class Listeners:
    """The subscribers of one open store."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}

    def add(self, listener: Listener) -> Callable[[], None]:
        """Add one; return what removes it."""
        key = object()
        self._listeners[key] = listener

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    def notify(self, words: str) -> None:
        """Call each subscriber; one that fails must not keep a wake-up from the others."""
        for listener in tuple(self._listeners.values()):
            try:
                listener(words)
            except Exception:  # noqa: BLE001 - logged; the commit has happened anyway
                _log.exception("a store listener failed on %s", words)
