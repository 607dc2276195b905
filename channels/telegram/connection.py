"""Watch the polls, and keep the token out of the log."""

import logging
import os
import traceback
from http import HTTPStatus
from typing import Any

from telegram.error import NetworkError
from telegram.request import HTTPXRequest

from channels.telegram.errors import REFUSED, conflict
from core.approvals.secrets import mask

_LOGGERS = ("telegram.Bot", "telegram.ext.ExtBot", "telegram.ext.Application")
_LOGGERS_OF_POLLS = ("telegram.ext.Updater", "httpx")


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
        self.problem = _problem(code, body)
        if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
            raise NetworkError(REFUSED)
        return code, body


def _problem(code: int, body: bytes) -> str:
    if code == HTTPStatus.OK:
        return ""
    if code == HTTPStatus.CONFLICT:
        return conflict(body.decode(errors="replace"))
    if code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND):
        return REFUSED
    return f"Telegram answers polls with HTTP {code}."


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
