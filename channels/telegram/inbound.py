"""Pass what people did to the inbox, one update at a time, and record what was committed."""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field

from telegram import Update

from channels.base import BROKEN, UNREADABLE, Inbound, Inbox, Reply
from channels.telegram.errors import translate
from channels.telegram.inbound_events import Identity, inbound_from
from channels.telegram.replies import Replies
from channels.telegram.update_ack import Handled
from core.errors import SaysoError

_log = logging.getLogger(__name__)
_PATIENCE_S = 2.0
_MOST_TRIES = 3


@dataclass(slots=True)
class Receiver:
    """The handler of every update.

    An inbox that raises ``SaysoError`` (store unreachable, disk full) has decided nothing: the
    update stays at Telegram and comes again, for as long as it takes. Any other exception is a
    fault of ours; after a few tries the person is notified, so that one update never blocks all
    later ones.
    """

    inbox: Inbox
    us: Identity
    handled: Handled
    replies: Replies
    _tries: Counter[int] = field(default_factory=Counter)

    async def take(self, update: Update) -> None:
        """Handle one update; it is confirmed only once the inbox has committed."""
        try:
            inbound = inbound_from(update, self.us)
        except UNREADABLE as error:
            _log.warning("What a person did could not be read, so it is lost: %s", translate(error))
            inbound = None
        if inbound is None:
            self.handled.note(update)
            return
        reply = await self._received(update, inbound)
        if reply is not None:
            self._tries.pop(update.update_id, None)
            self.handled.note(update)
            self.replies.send(update, reply)

    async def _received(self, update: Update, inbound: Inbound) -> Reply | None:
        receiving = asyncio.ensure_future(self.inbox.receive(inbound))
        try:
            done, _ = await asyncio.wait({receiving}, timeout=_PATIENCE_S)
            if not done:
                self.replies.acknowledge(update)
            return await receiving
        except SaysoError as error:
            _log.warning("An answer is waiting at Telegram: %s", error)
            self.replies.acknowledge(update)
            return None
        except Exception:  # noqa: BLE001 - a fault of ours must not stop the poller
            _log.exception("Cannot process an answer")
            self._tries[update.update_id] += 1
            given_up = self._tries[update.update_id] >= _MOST_TRIES
            return BROKEN if given_up else None
