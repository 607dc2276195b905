"""Keep an update at Telegram until its answer is committed.

Telegram forgets an update when getUpdates asks for a later one, or when a webhook answers 200. The
library asks for the next batch as soon as this one is *queued*, so a gateway that dies in between
would lose answers. Here ``put`` returns only when the update has been handled, and raises if that
failed: the library then keeps its offset, waits, and fetches the same updates again. What was
already handled is not handled twice.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from telegram import Update
from telegram.error import NetworkError

_REMEMBERED = 1_000


@dataclass(slots=True)
class Handled:
    """The updates that were handled completely; the latest thousand."""

    _ids: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def note(self, update: Update) -> None:
        """Record that an update has been handled."""
        self._ids[update.update_id] = None
        while len(self._ids) > _REMEMBERED:
            self._ids.popitem(last=False)

    def __contains__(self, update: Update) -> bool:
        return update.update_id in self._ids


class ConfirmedQueue(asyncio.Queue[object]):
    """The queue between poller and handlers; see the module."""

    def __init__(self, handled: Handled) -> None:
        super().__init__()
        self._handled = handled

    async def put(self, item: object) -> None:
        """Queue an update and wait until its handler has finished.

        Raises:
            NetworkError: the handler did not commit; the poller must not confirm the update.
        """
        if not isinstance(item, Update):
            await super().put(item)
            return
        if item in self._handled:
            return
        await super().put(item)
        await self.join()
        if item not in self._handled:
            raise NetworkError("Cannot store an answer; it stays at Telegram for now.")
