"""Build the library's application, and define how its updates come in."""

import logging
import os
import traceback
from dataclasses import dataclass, field
from typing import Any, Protocol

from telegram.error import TelegramError
from telegram.ext import Application, ApplicationBuilder, ExtBot

from channels.telegram.errors import translate
from channels.telegram.polling import PollWatch
from channels.telegram.rate_limits import ChatPacing
from channels.telegram.requests import BotRequest
from channels.telegram.settings import TelegramSettings
from channels.telegram.update_ack import ConfirmedQueue, Handled
from core.text.secrets import mask

_log = logging.getLogger(__name__)
_LOGGERS = ("telegram.Bot", "telegram.ext.ExtBot", "telegram.ext.Application")
_LOGGERS_OF_POLLS = ("telegram.ext.Updater", "telegram.ext", "httpx")
_LONGEST, _LONGEST_TRACE = 1_000, 10_000
UPDATES = ("message", "callback_query")
"""The kinds of updates that we ask for."""

App = Application[ExtBot[Any], Any, Any, Any, Any, Any]


class Transport(Protocol):
    """How updates come in."""

    async def open(self) -> None:
        """Start to receive updates.

        Raises:
            ChannelError: something on this machine prevents it.
            TelegramError: Telegram refused or cannot be reached.
        """

    async def close(self) -> None:
        """Stop once the update in progress is committed."""

    async def problem(self) -> str:
        """Return what keeps updates from coming in; empty if nothing does.

        Raises:
            TelegramError: Telegram cannot be asked.
        """


@dataclass(slots=True)
class PollingTransport:
    """Receives updates by long polling."""

    app: App = field(repr=False)
    watch: PollWatch
    poll_timeout: int

    async def open(self) -> None:
        """Start to poll; a webhook left by the other mode is removed first."""
        if self.app.updater is not None:
            await self.app.updater.start_polling(
                timeout=self.poll_timeout,
                allowed_updates=UPDATES,
                bootstrap_retries=0,  # our own attempts report why
                drop_pending_updates=False,
                error_callback=lambda error: _log.warning("%s", translate(error)),
            )

    async def close(self) -> None:
        """Stop polling once the update in progress is committed."""
        if self.app.updater is not None and self.app.updater.running:
            await self.app.updater.stop()

    async def problem(self) -> str:
        """Return the outcome of the last poll."""
        return self.watch.problem


def polling_app(settings: TelegramSettings, watch: PollWatch, handled: Handled) -> App:
    """Return an application that polls."""
    builder = _builder(settings).get_updates_request(watch)
    return builder.update_queue(ConfirmedQueue(handled)).build()


def webhook_app(settings: TelegramSettings) -> App:
    """Return an application to which updates are passed."""
    return _builder(settings).get_updates_request(BotRequest()).updater(None).build()


def _builder(settings: TelegramSettings) -> ApplicationBuilder[Any, Any, Any, Any, Any, Any]:
    base = settings.api_base_url
    return (
        ApplicationBuilder()
        .token(settings.token.get_secret_value())
        .base_url(f"{base}/bot")
        .base_file_url(f"{base}/file/bot")
        .request(BotRequest())
        .rate_limiter(ChatPacing())
        .concurrent_updates(False)
        .job_queue(None)
    )


class TokenMask(logging.Filter):
    """Mask secrets in a library's log records; its URLs and errors contain the token."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's message and its traceback with masked text."""
        record.msg, record.args = mask(_short(record.getMessage(), _LONGEST)), ()
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, TelegramError):
            # A response of Telegram or the network: where in the library it arose does not matter.
            record.msg = mask(_short(f"{record.msg} ({error})", _LONGEST))
            record.exc_info = None
        elif error is not None:
            text = "".join(traceback.format_exception(error))
            record.exc_text = mask(_short(text, _LONGEST_TRACE))
            record.exc_info = None
        return True


def _short(text: str, longest: int) -> str:
    # The library logs whole responses, including whatever a proxy turns them into.
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def prepare_library() -> None:
    """Set what the library has no parameter for: log masks, and its future type of durations."""
    # Without this opt-in it warns whenever Telegram asks to wait (python-telegram-bot 22.2).
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    for name in _LOGGERS + _LOGGERS_OF_POLLS:
        logger = logging.getLogger(name)
        if not any(isinstance(existing, TokenMask) for existing in logger.filters):
            logger.addFilter(TokenMask())
