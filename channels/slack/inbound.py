"""Pass what people did to the inbox, once each, however often Slack delivers it."""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from channels.background import finish
from channels.base import BROKEN, STOPPING, Inbox, Reply
from channels.slack.inbound_events import InboundAction
from channels.slack.membership import Membership
from channels.slack.person_names import PersonNames
from channels.slack.replies import Replies
from core.errors import SaysoError, Stopping
from core.text.render import Redacted

_log = logging.getLogger(__name__)
_PATIENCE_S = 1.5
"""Slack reports a press as failed if it is not acknowledged within 3 s."""

_FIRST_RETRY_S = 0.5
_LONGEST_RETRY_S = 10.0
_MOST_FAULTS = 3
_REMEMBERED = 1_000
_STOP_PATIENCE_S = 1.0
_WAITS = Redacted("Sayso cannot store this answer yet; nothing has changed so far. Retrying.")


@dataclass(slots=True)
class Receiver:
    """The events being answered, and those answered recently.

    An inbox that raises ``SaysoError`` (store unreachable, disk full) has decided nothing: it is
    asked again for as long as the gateway runs, and the person is notified once. Any other
    exception is a fault of ours; after a few tries the person is notified.
    """

    inbox: Inbox
    membership: Membership
    names: PersonNames
    replies: Replies
    _open: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _done: OrderedDict[str, None] = field(default_factory=OrderedDict)

    async def take(self, action: InboundAction) -> bool:
        """Pass an event on; ``False`` means that it is not committed yet.

        A redelivery joins the first delivery, even after that was committed.
        """
        key = action.inbound.key
        if key in self._done:
            return True
        if key not in self._open:
            task = self._open[key] = asyncio.create_task(self._work(action))
            task.add_done_callback(lambda _: self._open.pop(key, None))
        await asyncio.wait({self._open[key]}, timeout=_PATIENCE_S)
        return key in self._done

    async def finish(self) -> None:
        """Wait a moment for what is being committed, then cancel the rest."""
        await finish(self._open.values(), _STOP_PATIENCE_S)

    async def _work(self, action: InboundAction) -> None:
        actor = await self.names.named(action.inbound.actor)
        action = replace(action, inbound=replace(action.inbound, actor=actor))
        reply = await self._received(action)
        self._done[action.inbound.key] = None
        while len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)
        self.replies.send(action.reply_to, reply)

    async def _received(self, action: InboundAction) -> Reply:
        wait, faults, notified = _FIRST_RETRY_S, 0, False
        while faults < _MOST_FAULTS:
            try:
                return await self.inbox.receive(await self.membership.confirmed(action.inbound))
            except Stopping:
                return STOPPING  # Slack redelivers no press, and no one is left to retry
            except SaysoError as error:
                _log.warning("An answer is waiting: %s", error)
                if not notified:
                    self.replies.send(action.reply_to, Reply(_WAITS))
                notified = True
            except Exception:  # noqa: BLE001 - a fault of ours must not lose the next answer
                _log.exception("Cannot process an answer")
                faults += 1
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_RETRY_S)
        return BROKEN
