"""Send a prompt once, also where a sending was not confirmed or a gateway died in between.

Each message carries the id of its delivery as metadata. Before a prompt is sent that may have been
sent before, the channel's history is searched for it (needs a ``…:history`` scope; without one an
unconfirmed message may appear twice).
"""

import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from channels.cards import PromptCard
from channels.slack.blocks import PROMPT_EVENT, body, metadata, numbered
from channels.slack.calls import Calls
from channels.slack.errors import Unconfirmed
from channels.slack.events import message_id
from channels.slack.layout import Json
from core.errors import ChannelError
from core.model.identity import Target

_log = logging.getLogger(__name__)
_FRESH_MS = 10_000
"""A prompt this old may come from a gateway that died: the outbox claims a row for 30 s."""

_SKEW_S = 60
_REMEMBERED = 1_000


@dataclass(slots=True)
class Deliveries:
    """What was sent, as far as Slack knows it."""

    calls: Calls
    our_user: str = ""
    _doubtful: OrderedDict[str, None] = field(default_factory=OrderedDict)

    async def send(self, target: Target, card: PromptCard) -> str:
        """Send what is missing of a prompt and return the id of its last message.

        Raises:
            ChannelError: refused (``permanent``), to be sent later, or not confirmed.
        """
        channel = await self.calls.conversation(target.to)
        place = Target(target.channel, channel, target.account, target.thread)
        sent = await self._sent(place, card) if self._may_be_there(card) else {}
        messages = numbered(card)
        last, _ = messages[-1]
        for delivery, message in messages if last not in sent else ():
            if delivery not in sent:
                made = body(message, place) | {"metadata": metadata(delivery)}
                sent[delivery] = await self._send(place, card, delivery, made)
        return message_id(channel, sent[last])

    async def _send(self, place: Target, card: PromptCard, delivery: str, made: Json) -> str:
        # Whoever shows the beginning of a command goes on to its buttons, however long that takes.
        begun = delivery.split("/")[1] != "1"
        try:
            return await self.calls.post(made, patient=begun)
        except Unconfirmed:
            self._doubt(card)
            found = (await self._sent(place, card)).get(delivery)
            if found is None:
                raise
            return found

    async def _sent(self, place: Target, card: PromptCard) -> dict[str, str]:
        created_s = (card.expires_at_ms - card.answer_within_ms) / 1000
        try:
            oldest = f"{created_s - _SKEW_S:.6f}"
            messages = await self.calls.history(place.to, place.thread, oldest)
        except ChannelError as error:
            if not error.permanent:
                raise
            _log.info("Sent prompts cannot be looked up: %s", error)
            return {}
        return {named: str(one["ts"]) for one in messages if (named := self._named(one))}

    def _named(self, message: Any) -> str:  # noqa: ANN401 - a message as the SDK hands it over
        made = message.get("metadata") or {}
        ours = message.get("user") == self.our_user and made.get("event_type") == PROMPT_EVENT
        return str(made.get("event_payload", {}).get("delivery", "")) if ours else ""

    def _may_be_there(self, card: PromptCard) -> bool:
        created_ms = card.expires_at_ms - card.answer_within_ms
        return card.id in self._doubtful or time.time() * 1000 - created_ms > _FRESH_MS

    def _doubt(self, card: PromptCard) -> None:
        self._doubtful[card.id] = None
        while len(self._doubtful) > _REMEMBERED:
            self._doubtful.popitem(last=False)
