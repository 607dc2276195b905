"""Wake who waits for something in the store; a wake-up is a hint, the store tells."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.store import Store
from core.store.engine.notifications import RESYNC

Woken = Callable[[float], Awaitable[bool]]
"""Wait at most these seconds; ``True`` if there was a wake-up since the last time."""


@dataclass(slots=True)
class Wakes:
    """The wake-ups of a store, and that of the gateway which stops."""

    store: Store
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: set[asyncio.Event] = field(default_factory=set)

    def stop(self) -> None:
        """Wake everybody for the last time."""
        self.stopping.set()
        for waiting in self._waiting:
            waiting.set()

    @asynccontextmanager
    async def of(self, *about: str) -> AsyncIterator[Woken]:
        """Listen for as long as the block lasts; look into the store inside of it.

        ``about`` are notes such as ``session:main``; one that ends with ``:`` is about all of it.
        """
        heard = asyncio.Event()
        self._waiting.add(heard)

        def listen(note: str) -> None:
            if note in about or note == RESYNC or note.partition(":")[0] + ":" in about:
                heard.set()

        unsubscribe = self.store.subscribe(listen)

        async def woken(seconds: float) -> bool:
            try:
                async with asyncio.timeout(seconds):
                    await heard.wait()
            except TimeoutError:
                return False
            if not self.stopping.is_set():
                heard.clear()
            return True

        try:
            yield woken
        finally:
            unsubscribe()
            self._waiting.discard(heard)
