"""Reply to a person's press or message, without holding up the next one."""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from telegram import Update
from telegram.constants import CallbackQueryLimit

from channels.background import Background, patiently
from channels.base import Reply, Tone
from channels.telegram.errors import FAILURES, translate
from channels.telegram.outbound import Sender
from channels.telegram.render.buttons import decode
from channels.utf16 import cut, units
from core.errors import ChannelError

_log = logging.getLogger(__name__)
_MOST_UNITS = CallbackQueryLimit.ANSWER_CALLBACK_QUERY_TEXT_LENGTH


@dataclass(slots=True)
class Replies:
    """The replies being sent."""

    sender: Sender
    _acknowledged: set[int] = field(default_factory=set)
    background: Background = field(default_factory=Background)

    def send(self, update: Update, reply: Reply) -> None:
        """Answer a press or a message in the background."""
        self.background.spawn(self._send(update, reply))

    def acknowledge(self, update: Update) -> None:
        """End the spinner of a pressed button, once, if the decision takes long."""
        if update.callback_query is not None and update.update_id not in self._acknowledged:
            self._acknowledged.add(update.update_id)
            self.background.spawn(self._acknowledge(update))

    async def _acknowledge(self, update: Update) -> None:
        await self._answer_query(update, "", alert=False)

    async def _send(self, update: Update, reply: Reply) -> None:
        # A press accepts one answer; once acknowledged, it is answered in the chat.
        acknowledged = update.update_id in self._acknowledged
        self._acknowledged.discard(update.update_id)
        if _takes_the_place_of_choices(update, reply):
            await asyncio.gather(
                self._end_wait(update, acknowledged=acknowledged), self._replace(update, reply)
            )
        elif reply.choices:
            await asyncio.gather(
                self._end_wait(update, acknowledged=acknowledged), self._write(update, reply)
            )
        elif acknowledged or not await self._note(update, reply):
            await self._write(update, reply)

    async def _end_wait(self, update: Update, *, acknowledged: bool) -> None:
        if not acknowledged:
            await self._answer_query(update, "", alert=False)

    async def _note(self, update: Update, reply: Reply) -> bool:
        """Show the reply as a pop-up; return whether all of it was shown."""
        text = reply.text.text
        fits = units(text) <= _MOST_UNITS
        shown = text if fits else cut(text, _MOST_UNITS - 1)[0] + "…"
        return await self._answer_query(update, shown, alert=reply.tone is not Tone.OK) and fits

    async def _answer_query(self, update: Update, text: str, *, alert: bool) -> bool:
        if update.callback_query is None:
            return False
        try:
            await update.callback_query.answer(text or None, show_alert=alert)
        except FAILURES as error:
            # Usually "query is too old": the decision is recorded, and the message shows it.
            _log.info("Cannot answer a press: %s", translate(error))
            return False
        return True

    async def _write(self, update: Update, reply: Reply) -> None:
        try:
            await patiently(partial(self._reply, update, reply))
        except ChannelError as error:
            _log.warning("Cannot send a reply: %s", error)

    async def _reply(self, update: Update, reply: Reply) -> None:
        try:
            await self.sender.reply(update, reply)
        except FAILURES as error:
            raise translate(error) from error

    async def _replace(self, update: Update, reply: Reply) -> None:
        try:
            await self.sender.replace(update, reply)
        except FAILURES as error:
            _log.info(
                "Cannot replace the choices; sending the reply as a new message: %s",
                translate(error),
            )
            await self._write(update, reply)


def _takes_the_place_of_choices(update: Update, reply: Reply) -> bool:
    """Return whether the pressed message shows choices, which this reply ends."""
    query = update.callback_query
    asked_by = decode(query.data).asked_by if query is not None and query.data else ""
    if query is None or not asked_by:
        return False
    # Everyone in a chat sees the choices: a stranger's refused press must not remove them.
    return reply.tone is not Tone.REFUSED or asked_by == str(query.from_user.id)
