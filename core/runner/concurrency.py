"""Limit how many runs there are at a time; one that waits for its turn can be cancelled at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal, Protocol

from core.model.identity import SessionKey


class StartOrder(Protocol):
    """Decides which run may start when."""

    def turn(
        self, unwanted: asyncio.Event, session: SessionKey
    ) -> AbstractAsyncContextManager[bool]:
        """Hold a place for as long as the block lasts; ``False``: unwanted before one was free."""


class Turns:
    """Places for runs, given in the order in which they were asked for."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)

    @asynccontextmanager
    async def turn(self, unwanted: asyncio.Event, session: SessionKey) -> AsyncIterator[bool]:
        """Hold a place for as long as the block lasts; ``False``: unwanted before one was free."""
        del session  # first come first served, whichever the session
        got = await self._wait(unwanted)
        try:
            yield got
        finally:
            if got:
                self._places.release()

    async def _wait(self, unwanted: asyncio.Event) -> bool:
        if not self._places.locked():
            return await self._places.acquire()
        place = asyncio.ensure_future(self._places.acquire())
        word = asyncio.ensure_future(unwanted.wait())
        try:
            await asyncio.wait((place, word), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            self._return(place)
            raise
        finally:
            word.cancel()
        if place.done():
            return True
        self._return(place)
        return False

    def _return(self, place: asyncio.Task[Literal[True]]) -> None:
        """Stop waiting for a place, or give it back if it was assigned just now."""
        if not place.cancel():
            self._places.release()
