"""Translate Telegram's errors into ours, with what to do next."""

from datetime import timedelta

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)

from core.approvals.rendering import redact
from core.errors import ChannelError

CONFLICT = "Another program polls with this bot's token. Stop it, or give each gateway its own bot."
REFUSED = "Telegram refuses the bot token. Get the current one from @BotFather (/token)."
_UNCHANGED = ("message is not modified",)
_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")


def translate(error: TelegramError) -> ChannelError:
    """Return the channel error that stands for one of Telegram's."""
    if isinstance(error, RetryAfter):
        return ChannelError("Telegram asks to send more slowly.", retry_after_ms=wait_ms(error))
    if isinstance(error, Conflict):
        return ChannelError(CONFLICT)
    permanent = _permanent(error)
    if permanent:
        return ChannelError(permanent, permanent=True)
    return ChannelError(f"Telegram cannot be reached: {redact(error.message)}")


def _permanent(error: TelegramError) -> str:
    said = redact(error.message)
    if isinstance(error, InvalidToken):
        return REFUSED
    if isinstance(error, Forbidden):
        return f"Telegram: {said}. Each approver must press Start in a chat with the bot."
    if isinstance(error, ChatMigrated):
        return f"The group became a supergroup. Set its target's `to` to {error.new_chat_id}."
    return f"Telegram: {said}. Check the target's `to`." if isinstance(error, BadRequest) else ""


def wait_ms(error: RetryAfter) -> int:
    """Return how long Telegram asks to wait, in ms."""
    wait = error.retry_after
    seconds = wait.total_seconds() if isinstance(wait, timedelta) else wait
    return int(seconds * 1000)


def already_final(error: TelegramError) -> bool:
    """Say whether an edit failed because nothing is left to edit, or nothing had changed."""
    said = error.message.lower()
    return isinstance(error, BadRequest) and any(words in said for words in _UNCHANGED + _GONE)
