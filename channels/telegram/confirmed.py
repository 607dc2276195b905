"""Keep an update at Telegram until its answer is committed.

Telegram forgets an update when getUpdates asks for a later one. The library asks for the next batch
as soon as this one is *queued*, so a gateway that dies in between would lose answers. Here ``put``
returns only when the update was handled, and raises if that failed: the library then keeps its
offset, waits, and fetches the same updates again. What was handled before is not handled twice.
"""

import asyncio
from collections import OrderedDict

from telegram import Update
from telegram.error import NetworkError

_REMEMBERED = 1_000


class ConfirmedQueue(asyncio.Queue[object]):
    """The queue between poller and handlers; see the module."""

    def __init__(self) -> None:
        super().__init__()
        self._handled: OrderedDict[int, None] = OrderedDict()

    async def put(self, item: object) -> None:
        """Queue an update and wait until its handler is done with it.

        Raises:
            NetworkError: the handler did not commit; the poller must not confirm the update.
        """
        if not isinstance(item, Update):
            await super().put(item)
            return
        if item.update_id in self._handled:
            return
        await super().put(item)
        await self.join()
        if item.update_id not in self._handled:
            raise NetworkError("An answer could not be stored; it stays at Telegram for now.")

    def handled(self, update: Update) -> None:
        """Note that an update is done with, for good."""
        self._handled[update.update_id] = None
        while len(self._handled) > _REMEMBERED:
            self._handled.popitem(last=False)
