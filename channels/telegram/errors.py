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

from channels.base import UNREADABLE, out_of_reach, unreadable
from core.errors import ChannelError
from core.text.render import redact

CONFLICT = (
    "Another program is polling with this bot's token. Stop it, or give each gateway its own bot."
)
CONFLICT_WITH_WEBHOOK = (
    "Another program set a webhook for this bot, so polls are refused. Give each gateway its own "
    "bot, or restart this one to receive the answers again."
)
REFUSED = "Telegram rejected the bot token. Get the current one from @BotFather (/token)."
NOT_FOUND = (
    "The Bot API server answers 404: it knows no such bot or method. Check "
    "channels.telegram.apiBaseUrl, the proxies on the way, and that channels.telegram.token is "
    "whole."
)
FAILURES = (TelegramError, *UNREADABLE)
"""What a library call may raise: Telegram refuses, is unreachable, or answers something else."""
_LONGEST = 300
_UNCHANGED = ("message is not modified",)
_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_ADVICE = (
    ("not a forum", "Turn on Topics in the group's settings"),
    ("not enough rights", "Make the bot a group administrator who can manage topics"),
    ("thread not found", "Its topic is gone: correct the target's `thread`"),
    ("topic_closed", "Open the topic again, or let the bot manage topics"),
    ("bad webhook", "Correct channels.telegram.webhook.url"),
)
_OTHER_ADVICE = "Check the target's `to`"


def translate(error: BaseException) -> ChannelError:
    """Return the channel error for one of ``FAILURES``."""
    if not isinstance(error, TelegramError):
        return unreadable("Telegram", error, setting="channels.telegram.apiBaseUrl")
    if isinstance(error, RetryAfter):
        return ChannelError(
            "Telegram is rate limiting; slowing down.", retry_after_ms=wait_ms(error)
        )
    if isinstance(error, Conflict):
        return ChannelError(conflict(error.message))
    if is_not_found(error):
        return ChannelError(NOT_FOUND)
    permanent = _permanent(error)
    if permanent:
        return ChannelError(permanent, permanent=True)
    return out_of_reach("Telegram", error.message)


def is_not_found(error: TelegramError) -> bool:
    """Return whether a server answered 404, which the library takes for a refused token."""
    # At startup the library rewords the error and keeps the response as its cause.
    said = error.__cause__ if isinstance(error.__cause__, InvalidToken) else error
    return isinstance(error, InvalidToken) and str(said).startswith("Not Found")


def _permanent(error: TelegramError) -> str:
    said = redact(error.message[:_LONGEST])
    if isinstance(error, InvalidToken):
        return REFUSED
    if isinstance(error, Forbidden):
        return f"Telegram: {said}. Each approver must press Start in a chat with the bot."
    if isinstance(error, ChatMigrated):
        return f"The group became a supergroup. Set its target's `to` to {error.new_chat_id}."
    return f"Telegram: {said}. {_advice(error.message)}." if isinstance(error, BadRequest) else ""


def _advice(said: str) -> str:
    found = (advice for words, advice in _ADVICE if words in said.lower())
    return next(found, _OTHER_ADVICE)


def conflict(said: str) -> str:
    """Return what else receives this bot's updates, judging by the platform's message."""
    return CONFLICT_WITH_WEBHOOK if "webhook" in said.lower() else CONFLICT


def wait_ms(error: RetryAfter) -> int:
    """Return how long Telegram asks to wait, in ms."""
    wait = error.retry_after
    seconds = wait.total_seconds() if isinstance(wait, timedelta) else wait
    return int(seconds * 1000)


def already_final(error: BaseException, *, gone: bool = True) -> bool:
    """Return whether an edit failed as nothing had changed or, with ``gone``, nothing is left."""
    if not isinstance(error, BadRequest):
        return False
    fine = _UNCHANGED + _GONE if gone else _UNCHANGED
    return any(words in error.message.lower() for words in fine)
