"""Turn Telegram's updates into what a person did; pure.

Bots, channels and anonymous admins are ignored. A forwarded message, or one written by an inline
bot or by a bot of a business account, was not written by its sender, so it answers nothing.
"""

from dataclasses import dataclass

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, Update, User
from telegram.constants import ChatType

from channels.base import Inbound
from channels.grammar import parse
from channels.telegram.render.buttons import decode
from core.model.identity import Actor, Target

NAME = "telegram"


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of our bot on the platform."""

    id: int
    username: str


def inbound_from(update: Update, us: Identity) -> Inbound | None:
    """Parse an update; ``None`` if it is not from a person or does not concern us."""
    key = f"{NAME}:{us.id}:{update.update_id}"
    if update.callback_query is not None:
        return _pressed(update.callback_query, key)
    return _typed(update.message, us, key) if update.message is not None else None


def place_of(message: MaybeInaccessibleMessage) -> Target:
    """Return the chat and forum topic of a message."""
    # Only topics can be written to; elsewhere the thread id just names the first message.
    # A message that is too old for Telegram to show still has its chat and id.
    thread = ""
    if isinstance(message, Message) and message.is_topic_message:
        thread = str(message.message_thread_id)
    return Target(NAME, str(message.chat.id), thread=thread)


def _pressed(query: CallbackQuery, key: str) -> Inbound | None:
    message = query.message
    if query.from_user.is_bot or not query.data:
        return None
    # The button says what it answers, so a press counts even if Telegram leaves the message out.
    place = Target(NAME, str(query.from_user.id)) if message is None else place_of(message)
    pressed = decode(query.data)
    # A reply with choices is not a copy of a prompt.
    replied_to = "" if message is None or pressed.asked_by else str(message.message_id)
    return Inbound(_actor(query.from_user), place, pressed.command, key, replied_to)


def _typed(message: Message, us: Identity, key: str) -> Inbound | None:
    sender = message.from_user
    if sender is None or sender.is_bot or message.sender_chat is not None or not message.text:
        return None
    if message.forward_origin is not None or message.via_bot is not None:
        return None
    if message.sender_business_bot is not None:
        return None
    prompt = _ours(message.reply_to_message, us)
    private = message.chat.type == ChatType.PRIVATE
    command = parse(
        message.text, bot_name=us.username, is_reply=prompt is not None, private=private
    )
    if command is None:
        return None
    replied_to = str(prompt.message_id) if prompt else ""
    return Inbound(
        _actor(sender),
        place_of(message),
        command,
        key,
        replied_to,
        private=private,
        message=str(message.message_id),
    )


def _ours(message: Message | None, us: Identity) -> Message | None:
    if message is None or message.from_user is None or message.from_user.id != us.id:
        return None
    return message


def _actor(user: User) -> Actor:
    return Actor(NAME, str(user.id), user.full_name)
