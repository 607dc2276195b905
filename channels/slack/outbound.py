"""Send a prompt once, even if a sending was not confirmed or a gateway died in between.

Each message carries the id of its delivery as metadata. Before a prompt is sent that may have been
sent before, the channel's history is searched for it (needs a ``…:history`` scope; without one an
unconfirmed message may appear twice). A prompt is also found in the group that it was sent in.
"""

import hashlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from channels.cards.card import PromptCard
from channels.slack.errors import Unconfirmed
from channels.slack.inbound_events import message_id
from channels.slack.render.layout import Json
from channels.slack.render.messages import (
    PROMPT_EVENT,
    Message,
    body,
    metadata,
    numbered,
    render_title,
)
from channels.slack.render.prompt_groups import group_delivery, grouped_in, render_group
from channels.slack.web_api import Answer, Calls
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted

_log = logging.getLogger(__name__)
_FRESH_MS = 10_000
"""A prompt this old may come from a gateway that died: the outbox claims a row for 30 s."""

_SKEW_S = 60
_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class _Batch:
    """Messages that belong together, each with its delivery; ``made_ms`` is wall-clock time."""

    key: str
    made_ms: int
    messages: list[tuple[str, Message]]


@dataclass(slots=True)
class Deliveries:
    """What was sent, as far as Slack has it."""

    calls: Calls
    our_user: str = ""
    _doubtful: OrderedDict[str, None] = field(default_factory=OrderedDict)

    async def send(self, target: Target, card: PromptCard) -> str:
        """Send what is missing of a prompt and return the id of its last message.

        Raises:
            ChannelError: refused (``permanent``), to be sent later, or not confirmed.
        """
        return await self._send(target, _Batch(card.id, _made_ms(card), numbered(card)))

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Send what is missing of a prompt that may have been sent, however recent it is.

        Raises:
            ChannelError: as ``send``.
        """
        self._doubt(card.id)
        return await self.send(target, card)

    async def send_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Send several prompts as one message, unless it exists already, and return its id.

        Raises:
            ChannelError: as ``send``.
        """
        delivery = group_delivery(cards)
        made = min(_made_ms(card) for card in cards)
        return await self._send(target, _Batch(delivery, made, [(delivery, render_group(cards))]))

    async def open_thread(self, target: Target, title: Redacted) -> Target:
        """Send a thread's first message and return the thread; a thread cannot contain another.

        Raises:
            ChannelError: as ``send``.
        """
        if target.thread:
            return target
        named = hashlib.sha256(f"{target.to}/{title}".encode()).hexdigest()
        delivery = f"thread/{named}"
        made = _Batch(delivery, round(time.time() * 1000), [(delivery, render_title(title))])
        message = await self._send(target, made)
        return replace(target, thread=message.rpartition(":")[2])

    async def _send(self, target: Target, batch: _Batch) -> str:
        channel = await self.calls.conversation(target.to)
        place = replace(target, to=channel)
        sent = await self._sent(place, batch) if self._may_be_there(batch) else {}
        last, _ = batch.messages[-1]
        there = sent.get(batch.key) or sent.get(last)
        return message_id(channel, there or await self._send_rest(place, batch, sent))

    async def _send_rest(self, place: Target, batch: _Batch, sent: dict[str, str]) -> str:
        ts = ""
        for number, (delivery, message) in enumerate(batch.messages):
            made = body(message, place) | {"metadata": metadata(delivery)}
            # Once the beginning of a command is shown, its buttons must follow, however long that
            # takes.
            patient = number > 0
            ts = sent.get(delivery) or await self._posted(place, batch, made, patient=patient)
        return ts

    async def _posted(self, place: Target, batch: _Batch, made: Json, *, patient: bool) -> str:
        try:
            return await self.calls.post(made, patient=patient)
        except ChannelError as error:
            # If a later part fails, the beginning is there already and must not be sent again.
            if patient or isinstance(error, Unconfirmed):
                self._doubt(batch.key)
            if not isinstance(error, Unconfirmed):
                raise
            found = (await self._sent(place, batch)).get(_delivery(made))
            if found is None:
                raise
            return found

    async def _sent(self, place: Target, batch: _Batch) -> dict[str, str]:
        try:
            oldest = f"{batch.made_ms / 1000 - _SKEW_S:.6f}"
            messages = await self.calls.history(place.to, place.thread, oldest)
        except ChannelError as error:
            if not error.permanent:
                raise
            _log.info("Cannot look up sent prompts: %s", error)
            return {}
        return {name: str(one["ts"]) for one in messages for name in self._names(one)}

    def _names(self, message: Answer) -> tuple[str, ...]:
        """Return what a message delivers: a part of a prompt, or a group and each of its prompts.

        What was edited had been recorded: a caller that sends now wants another copy.
        """
        made: Answer = message.get("metadata") or {}
        ours = message.get("user") == self.our_user and made.get("event_type") == PROMPT_EVENT
        if not ours or "edited" in message:
            return ()
        return (_delivery(message), *grouped_in(_delivery(message)))

    def _may_be_there(self, batch: _Batch) -> bool:
        return batch.key in self._doubtful or time.time() * 1000 - batch.made_ms > _FRESH_MS

    def _doubt(self, key: str) -> None:
        self._doubtful[key] = None
        while len(self._doubtful) > _REMEMBERED:
            self._doubtful.popitem(last=False)


def _delivery(message: Answer) -> str:
    made = message.get("metadata") or {}
    return str((made.get("event_payload") or {}).get("delivery", ""))


def _made_ms(card: PromptCard) -> int:
    return card.expires_at_ms - card.answer_within_ms
