"""Reply privately to a person's press, command or message."""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import partial

from channels.background import Background, patiently
from channels.base import Reply
from channels.slack.inbound_events import NAME, ReplyPlace
from channels.slack.render.messages import Message, body, render_reply
from channels.slack.web_api import Calls
from core.errors import ChannelError
from core.model.identity import Target

_log = logging.getLogger(__name__)
_HEAD_START_S = 0.02


@dataclass(slots=True)
class Replies:
    """The replies being sent."""

    calls: Calls
    background: Background = field(default_factory=Background)

    def send(self, reply_to: ReplyPlace, reply: Reply) -> None:
        """Send a reply in the background; the next answer does not wait for it."""
        self.background.spawn(self._send_reply(reply_to, reply))

    async def _send_reply(self, reply_to: ReplyPlace, reply: Reply) -> None:
        # Others wait for the acknowledgement and the prompt's edit, so they are sent first.
        await asyncio.sleep(_HEAD_START_S)
        try:
            for number, message in enumerate(render_reply(reply)):
                # Only the first replaces what was pressed; the others follow it.
                replaces = reply_to.replaces and number == 0
                await patiently(partial(self._send, replace(reply_to, replaces=replaces), message))
        except ChannelError as error:
            # The decision is recorded, and the prompt shows it.
            _log.warning("Cannot send a reply: %s", error)

    async def _send(self, reply_to: ReplyPlace, message: Message) -> None:
        if reply_to.response_url and await self._responded(reply_to, message):
            return
        if reply_to.channel.startswith("D"):
            # Nobody else reads a direct message, and an ephemeral one would not last.
            target = Target(NAME, reply_to.channel, thread=reply_to.thread)
            await self.calls.post(body(message, target), patient=True)
        else:
            thread = {"thread_ts": reply_to.thread} if reply_to.thread else {}
            whisper = {"channel": reply_to.channel, "user": reply_to.user, "text": message.text}
            await self.calls.whisper({**whisper, "blocks": message.blocks, **thread})

    async def _responded(self, reply_to: ReplyPlace, message: Message) -> bool:
        try:
            await self.calls.respond(reply_to.response_url, message, replace=reply_to.replaces)
        except ChannelError as error:
            _log.info("Sending an answer as a separate message: %s", error)
            return False
        return True
