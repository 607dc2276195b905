"""Wake callers that wait for a change in the store; a wake-up is a hint, the store decides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.store import Store
from core.store.engine.wakeups import Wakeups, wakeups

Woken = Callable[[float], Awaitable[bool]]
"""Wait at most this many seconds; ``True`` if there was a wake-up since the last call."""


@dataclass(slots=True)
class ApiWakeups:
    """The wake-ups of a store, and the one when the gateway stops."""

    store: Store
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: set[Wakeups] = field(default_factory=set)

    def stop(self) -> None:
        """Wake everybody for the last time."""
        self.stopping.set()
        for waiting in self._waiting:
            waiting.wake()

    @asynccontextmanager
    async def of(self, *about: str) -> AsyncIterator[Woken]:
        """Listen for as long as the block lasts; read the store inside it.

        ``about`` are notes such as ``session:main``; one that ends with ``:`` matches every note of
        its kind.
        """
        with wakeups(self.store, *about) as heard:
            self._waiting.add(heard)

            async def woken(seconds: float) -> bool:
                found = await heard.wait(seconds)
                if found and self.stopping.is_set():
                    heard.wake()
                return found

            try:
                yield woken
            finally:
                self._waiting.discard(heard)
