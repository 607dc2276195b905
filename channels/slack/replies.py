"""Reply privately to a person's press, command or message."""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import partial

from channels.background import Background, patiently
from channels.base import Reply
from channels.slack.inbound_events import NAME, Asker
from channels.slack.render.messages import Message, body, render_reply
from channels.slack.web_api import Calls
from core.errors import ChannelError
from core.model.identity import Target

_log = logging.getLogger(__name__)
_HEAD_START_S = 0.02


@dataclass(slots=True)
class Notes:
    """The notes being sent."""

    calls: Calls
    background: Background = field(default_factory=Background)

    def send(self, asker: Asker, reply: Reply) -> None:
        """Send a note in the background; the next answer does not wait for it."""
        self.background.spawn(self._send_reply(asker, reply))

    async def _send_reply(self, asker: Asker, reply: Reply) -> None:
        # Others wait for the acknowledgement and the prompt's edit, so they are sent first.
        await asyncio.sleep(_HEAD_START_S)
        try:
            for number, message in enumerate(render_reply(reply)):
                # Only the first replaces what was pressed; the others follow it.
                replaces = asker.replaces and number == 0
                await patiently(partial(self._send, replace(asker, replaces=replaces), message))
        except ChannelError as error:
            # The decision is recorded, and the prompt shows it.
            _log.warning("Cannot send a note: %s", error)

    async def _send(self, asker: Asker, message: Message) -> None:
        if asker.response_url and await self._responded(asker, message):
            return
        if asker.channel.startswith("D"):
            # Nobody else reads a direct message, and an ephemeral one would not last.
            target = Target(NAME, asker.channel, thread=asker.thread)
            await self.calls.post(body(message, target), patient=True)
        else:
            thread = {"thread_ts": asker.thread} if asker.thread else {}
            whisper = {"channel": asker.channel, "user": asker.user, "text": message.text}
            await self.calls.whisper({**whisper, "blocks": message.blocks, **thread})

    async def _responded(self, asker: Asker, message: Message) -> bool:
        try:
            await self.calls.respond(asker.response_url, message, replace=asker.replaces)
        except ChannelError as error:
            _log.info("Sending an answer as a separate message: %s", error)
            return False
        return True
