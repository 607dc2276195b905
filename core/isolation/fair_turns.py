"""Limit how many runs there are at a time, and give places to sessions in turn."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.model.identity import SessionKey


class FairTurns:
    """Places for runs: a session that asks for many delays each other session by one at most."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._queues: OrderedDict[SessionKey, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, unwanted: asyncio.Event, session: SessionKey) -> AsyncIterator[bool]:
        """Hold a place for as long as the block lasts; ``False``: unwanted before one was free."""
        got = await self._wait(unwanted, session)
        try:
            yield got
        finally:
            if got:
                self._release()

    async def _wait(self, unwanted: asyncio.Event, session: SessionKey) -> bool:
        if self._free:
            self._free -= 1
            return True
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(session, deque()).append(place)
        word = asyncio.ensure_future(unwanted.wait())
        try:
            await asyncio.wait((place, word), return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            self._give_up(place)
            raise
        finally:
            word.cancel()
        if place.done():
            return True
        self._give_up(place)
        return False

    def _give_up(self, place: "asyncio.Future[None]") -> None:
        """Stop waiting, or give the place back if it was assigned just now."""
        if not place.cancel():
            self._release()

    def _release(self) -> None:
        """Give the place to the session that has waited longest since its last one."""
        while self._queues:
            session, queue = self._queues.popitem(last=False)
            place = queue.popleft()
            if queue:
                self._queues[session] = queue  # after all others
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
