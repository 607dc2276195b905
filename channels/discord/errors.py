"""Translate Discord's errors into ours, with what to do next."""

from http import HTTPStatus

import aiohttp
from discord import (
    ConnectionClosed,
    DiscordException,
    Forbidden,
    HTTPException,
    LoginFailure,
    NotFound,
    PrivilegedIntentsRequired,
    RateLimited,
)

from channels.base import UNREADABLE, out_of_reach, unreadable
from core.errors import ChannelError
from core.text.render import redact

FAILURES = (DiscordException, aiohttp.ClientError, OSError, TimeoutError, *UNREADABLE)
"""What a library call may raise: Discord refuses, is unreachable, or answers something else."""

REFUSED = (
    "Discord rejected the bot token. Reset it in the Developer Portal (Bot, Reset Token) and set "
    "channels.discord.token."
)
INTENT = (
    "Discord rejected the Message Content intent. Turn it on in the Developer Portal (Bot, "
    "Privileged Gateway Intents), or set channels.discord.messageContent to false."
)
ALREADY_ACKNOWLEDGED = 40060
THREAD_EXISTS = 160004
_UNKNOWN_CHANNEL = 10003
_UNKNOWN_MESSAGE = 10008
_THREAD_ARCHIVED = 50083
_ADVICE = {
    _UNKNOWN_CHANNEL: "Check the target's `to`: a channel's id, or user: and a user's id.",
    10004: "Check channels.discord.guilds, and invite the bot to that server.",
    10013: "Check the id: no such user exists.",
    50001: "Invite the bot to that server and let it see the channel.",
    50007: "That person must share a server with the bot and allow direct messages from it.",
    50013: "Give the bot View Channel, Send Messages, Send Messages in Threads and Create Public "
    "Threads there.",
    160006: "Archive some threads of that server, or set another target.",
    _THREAD_ARCHIVED: "The thread is archived and locked; unlock it or choose another target.",
}
_NOT_DISCORD = (
    "HTTP {} without an error code of Discord: {}. Check channels.discord.apiBaseUrl and the "
    "proxies on the way."
)
_LONGEST = 200
_AUTHENTICATION_FAILED = 4004
_DISALLOWED_INTENTS = 4014
_NEVER_AGAIN = (_AUTHENTICATION_FAILED, 4010, 4011, 4012, 4013, _DISALLOWED_INTENTS)
_MS = 1000


def translate(error: BaseException) -> ChannelError:
    """Return the channel error for one of Discord's."""
    match error:
        case LoginFailure():
            return ChannelError(REFUSED, permanent=True)
        case PrivilegedIntentsRequired():
            return ChannelError(INTENT, permanent=True)
        case ConnectionClosed():
            return _closed(error.code)
        case RateLimited():
            return _slower(error.retry_after)
        case HTTPException():
            return _refused(error)
        case _:
            return _away(error)


def gone(error: BaseException) -> bool:
    """Return whether an edit failed because there is nothing left to edit."""
    return isinstance(error, NotFound) and error.code in (_UNKNOWN_MESSAGE, _UNKNOWN_CHANNEL)


def archived(error: BaseException) -> bool:
    """Return whether an edit failed because its thread is archived."""
    return isinstance(error, HTTPException) and error.code == _THREAD_ARCHIVED


def _away(error: BaseException) -> ChannelError:
    if isinstance(error, UNREADABLE):
        return unreadable("Discord", error, setting="channels.discord.apiBaseUrl")
    said = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return out_of_reach("Discord", said)


def _refused(error: HTTPException) -> ChannelError:
    if error.status == HTTPStatus.UNAUTHORIZED:
        return ChannelError(REFUSED, permanent=True)
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ChannelError(f"Discord answers with HTTP {error.status}.")
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return _slower(_seconds(error.response.headers.get("Retry-After", "")))
    if not error.code:
        return ChannelError(_NOT_DISCORD.format(error.status, redact(error.text[:_LONGEST])))
    advice = _ADVICE.get(error.code, "")
    if not advice and isinstance(error, Forbidden):
        advice = "Check the bot's permissions in that channel."
    said = f"Discord: {redact(error.text)} ({error.status}, {error.code})."
    return ChannelError(f"{said} {advice}".rstrip(), permanent=True)


def _slower(seconds: float | None) -> ChannelError:
    wait = None if seconds is None else round(seconds * _MS)
    return ChannelError("Discord is rate limiting; slowing down.", retry_after_ms=wait)


def _seconds(header: str) -> float | None:
    try:
        return float(header)
    except ValueError:
        return None


def _closed(code: int) -> ChannelError:
    if code == _AUTHENTICATION_FAILED:
        return ChannelError(REFUSED, permanent=True)
    if code == _DISALLOWED_INTENTS:
        return ChannelError(INTENT, permanent=True)
    words = f"Discord's gateway closed the connection with code {code}."
    return ChannelError(words, permanent=code in _NEVER_AGAIN)
