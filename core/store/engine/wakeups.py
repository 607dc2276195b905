"""Wait for the wake-ups of a store; a wake-up is a hint, the store is what counts."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from core.store.engine.notifications import RESYNC
from core.store.engine.protocol import Store


@dataclass(frozen=True, slots=True, eq=False)
class Wakeups:
    """What was heard about some notes since the last check.

    ``about`` are notes such as ``session:main``; one that ends with ``:`` is about all of its kind.
    """

    about: frozenset[str]
    _heard: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, note: str) -> None:
        """Wake whoever waits if a note is about it, or if notes were lost."""
        kind, colon, _ = note.partition(":")
        if note == RESYNC or not self.about.isdisjoint({note, kind + colon}):
            self.wake()

    def wake(self) -> None:
        """Wake whoever waits, now or at its next wait."""
        self._heard.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait at most these seconds; return whether there was a wake-up since the last wait.

        A note can be lost with its connection, so check the store too.
        """
        # Not wait_for: before Python 3.12 it can swallow a cancellation (bpo-37658).
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        heard = self._heard.is_set()
        self._heard.clear()
        return heard


@contextmanager
def wakeups(store: Store, *about: str) -> Iterator[Wakeups]:
    """Listen for as long as the block lasts; check the store inside it."""
    heard = Wakeups(frozenset(about))
    unsubscribe = store.subscribe(heard.hear)
    try:
        yield heard
    finally:
        unsubscribe()
