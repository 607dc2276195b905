"""Send messages, edits and replies through the library's bot."""

from dataclasses import dataclass, field
from typing import Any

from telegram import (
    InputFile,
    LinkPreviewOptions,
    MaybeInaccessibleMessage,
    ReplyParameters,
    Update,
)
from telegram import Message as SentMessage
from telegram.constants import ForumTopicLimit
from telegram.error import TelegramError
from telegram.ext import ExtBot

from channels.base import UNREADABLE, Reply
from channels.telegram.errors import FAILURES, already_final, translate
from channels.telegram.inbound_events import place_of
from channels.telegram.rate_limits import PATIENT
from channels.telegram.render.buttons import choice_keyboard
from channels.telegram.render.messages import Message, render_text
from channels.utf16 import cut
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted, phrase

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)

Bot = ExtBot[Any]


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends to Telegram as one bot; the bot's representation would reveal the token."""

    bot: Bot = field(repr=False)

    async def send(
        self, target: Target, messages: tuple[Message, ...], *, reply_to: int = 0
    ) -> str:
        """Send messages in order and return the id of the last one; all reply to ``reply_to``.

        Raises:
            ChannelError: the platform refused one (``permanent``) or cannot be reached.
        """
        sent = ""
        try:
            for message in messages:
                patient = bool(sent)
                made = await self._send(target, message, reply_to=reply_to, patient=patient)
                sent = str(made.message_id)
        except TelegramError as error:
            raise translate(error) from error
        except UNREADABLE as error:
            # Telegram accepted it and has no way to look it up: sent again, it would appear twice.
            raise ChannelError(str(translate(error)), permanent=True) from error
        return sent

    async def edit(self, target: Target, message: str, final: Message) -> None:
        """Edit a message; one that is gone, or shows this already, is no error.

        Raises:
            ChannelError: the platform refused it (``permanent``) or cannot be reached.
        """
        try:
            await self._edit(target, int(message), final)
        except FAILURES as error:
            if not already_final(error):
                raise translate(error) from error

    async def open_topic(self, target: Target, title: Redacted) -> Target:
        """Open a topic in a forum group and return its place.

        Raises:
            ChannelError: the place has no topics (``permanent``) or the platform is away.
        """
        name = cut(title.text, ForumTopicLimit.MAX_NAME_LENGTH)[0]
        try:
            topic = await self.bot.create_forum_topic(_chat(target), name)
        except FAILURES as error:
            raise translate(error) from error
        return Target(target.channel, target.to, target.account, str(topic.message_thread_id))

    async def reply(self, update: Update, reply: Reply) -> None:
        """Send a reply to what a person did, with its choices as buttons.

        Raises:
            TelegramError: it could not be sent.
        """
        message = _answered(update)
        if message is None:
            return
        place = place_of(message)
        for part in _parts(update, reply):
            await self._send(place, part, reply_to=message.message_id, patient=True)

    async def replace(self, update: Update, reply: Reply) -> None:
        """Replace the message whose button was pressed with a reply.

        Raises:
            TelegramError: it could not be edited.
        """
        message = _answered(update)
        if message is None:
            return
        place = place_of(message)
        first, *more = _parts(update, reply)
        try:
            await self._edit(place, message.message_id, first)
        except FAILURES as error:
            if not already_final(error, gone=False):
                raise
        for part in more:
            await self._send(place, part, reply_to=message.message_id, patient=True)

    async def _edit(self, target: Target, message: int, final: Message) -> None:
        await self.bot.edit_message_text(
            final.text,
            chat_id=_chat(target),
            message_id=message,
            entities=final.entities,
            reply_markup=final.markup,
            link_preview_options=_NO_PREVIEW,
        )

    async def _send(
        self, target: Target, message: Message, *, reply_to: int = 0, patient: bool = False
    ) -> SentMessage:
        thread = int(target.thread) if target.thread else None
        pace = PATIENT if patient else None
        if message.file is not None:
            return await self.bot.send_document(
                _chat(target),
                InputFile(message.file, message.file_name),
                caption=message.text,
                caption_entities=message.entities,
                message_thread_id=thread,
                rate_limit_args=pace,
            )
        reply = ReplyParameters(reply_to, allow_sending_without_reply=True) if reply_to else None
        return await self.bot.send_message(
            _chat(target),
            message.text,
            entities=message.entities,
            reply_markup=message.markup,
            message_thread_id=thread,
            reply_parameters=reply,
            link_preview_options=_NO_PREVIEW,
            rate_limit_args=pace,
        )


def _answered(update: Update) -> MaybeInaccessibleMessage | None:
    # A message that is too old for Telegram to show can still be answered and edited.
    query = update.callback_query
    return query.message if query is not None else update.effective_message


def _parts(update: Update, reply: Reply) -> tuple[Message, ...]:
    person = update.effective_user
    markup = choice_keyboard(reply.choices, person.id) if person is not None else None
    text = phrase("{}\n{}", reply.text, Redacted(reply.link)) if reply.link else reply.text
    return render_text(text, markup)


def _chat(target: Target) -> int | str:
    return int(target.to) if target.to.lstrip("-").isdecimal() else target.to
