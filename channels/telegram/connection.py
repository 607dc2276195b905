"""Hold the line to Telegram: watch the polls, pace each chat, keep the token out of the log."""

import asyncio
import logging
import os
import traceback
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from math import ceil
from typing import Any

from telegram.error import NetworkError, RetryAfter
from telegram.ext import AIORateLimiter
from telegram.request import HTTPXRequest

from channels.telegram.errors import CONFLICT, REFUSED, wait_ms
from core.approvals.secrets import mask

_BURST = 3
_PER_SECOND = 1.0
_SHORT_WAIT_MS = 2_000
_LONGEST_TURN_S = 5.0
_MOST_CHATS = 1_000
_LOGGERS = ("telegram.Bot", "telegram.ext.ExtBot", "telegram.ext.Application")
_LOGGERS_OF_POLLS = ("telegram.ext.Updater", "telegram.ext.AIORateLimiter", "httpx")


class PollWatch(HTTPXRequest):
    """The requests of the poller, and what became of the last one."""

    problem: str = ""

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:  # noqa: ANN401 - the SDK's signature
        """Send one poll and note its outcome.

        Raises:
            NetworkError: the token was refused. The library would stop polling for good, and a
                wrong answer of a proxy would then cost every later press.
        """
        try:
            code, body = await super().do_request(*args, **kwargs)
        except NetworkError as error:
            self.problem = f"Telegram cannot be reached: {mask(error.message)}"
            raise
        self.problem = _problem(code)
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            raise NetworkError(REFUSED)
        return code, body


def _problem(code: int) -> str:
    if code == HTTPStatus.OK:
        return ""
    if code == HTTPStatus.CONFLICT:
        return CONFLICT
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
        return REFUSED
    return f"Telegram answers polls with HTTP {code}."


class ChatPacing(AIORateLimiter):
    """Add what the library's limiter lacks: one message a second for each chat, in short bursts.

    A chat that Telegram told to wait is left alone for that long; other chats go on. Short waits
    are slept through, longer ones are the outbox's to schedule.
    """

    def __init__(self) -> None:
        super().__init__(max_retries=0)
        self._free_at: dict[str, float] = {}

    async def process_request(
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,  # noqa: ANN401 - the SDK's signature
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: int | None,
    ) -> Any:  # noqa: ANN401 - the SDK's signature
        """Wait for the chat's turn, then send; sleep through one short refusal."""
        chat = str(data["chat_id"]) if "chat_id" in data else ""
        request = (callback, args, kwargs, endpoint, data, rate_limit_args)
        await self._turn(chat)
        try:
            return await super().process_request(*request)
        except RetryAfter as error:
            self._hold(chat, wait_ms(error) / 1000)
            if wait_ms(error) > _SHORT_WAIT_MS:
                raise
            await asyncio.sleep(wait_ms(error) / 1000)
            return await super().process_request(*request)

    async def _turn(self, chat: str) -> None:
        if not chat:
            return
        now = asyncio.get_running_loop().time()
        # Each message moves the chat's clock on by a second; it may run ahead by a burst.
        turn = max(self._free_at.get(chat, 0.0), now - _BURST / _PER_SECOND)
        if turn - now > _LONGEST_TURN_S:
            raise RetryAfter(ceil(turn - now))
        self._free_at[chat] = turn + 1 / _PER_SECOND
        if len(self._free_at) > _MOST_CHATS:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now - _BURST}
        if turn > now:
            await asyncio.sleep(turn - now)

    def _hold(self, chat: str, seconds: float) -> None:
        if chat:
            now = asyncio.get_running_loop().time()
            self._free_at[chat] = max(self._free_at.get(chat, 0.0), now + seconds)


class TokenMask(logging.Filter):
    """Mask secrets in a library's log records; its URLs and errors hold the token."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's words, and its traceback by masked text."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = mask("".join(traceback.format_exception(record.exc_info[1])))
            record.exc_info = None
        return True


def prepare_library() -> None:
    """Set what the library has no parameter for: log masks, and its coming type of durations."""
    # Without this opt-in it warns whenever Telegram asks to wait (python-telegram-bot 22.2).
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    for name in _LOGGERS + _LOGGERS_OF_POLLS:
        logger = logging.getLogger(name)
        if not any(isinstance(existing, TokenMask) for existing in logger.filters):
            logger.addFilter(TokenMask())
