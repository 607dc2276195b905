"""Accept the updates that Telegram delivers to our URL (Bot API setWebhook).

A request is answered with 200 only once its update is committed; otherwise Telegram sends it again.
Requests without the secret token are refused.
"""

import hmac
import logging
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from telegram import Update, WebhookInfo

from channels.telegram.settings import WebhookSection
from channels.telegram.transport import UPDATES, App
from channels.telegram.update_ack import Handled
from core.errors import ChannelError
from core.ipc.strict_json import parsed
from core.text.render import redact

if TYPE_CHECKING:  # a gateway that polls needs no server
    from aiohttp import web

    from channels.listener import Listener

_log = logging.getLogger(__name__)
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
_STOP_PATIENCE_S = 5.0


@dataclass(slots=True)
class WebhookTransport:
    """Receives updates by requests of Telegram to ``section.url``."""

    app: App = field(repr=False)
    section: WebhookSection
    handled: Handled
    _listener: "Listener | None" = None
    _heard_at: float = field(default=0.0)

    async def open(self) -> None:
        """Listen, then register the URL with Telegram; waiting updates are delivered at once.

        Raises:
            ChannelError: the address cannot listen.
            TelegramError: Telegram refused the URL or cannot be reached.
        """
        if self._listener is None:
            self._listener = await self._listen()
        self._heard_at = time.time()
        await self.app.bot.set_webhook(
            self.section.url,
            allowed_updates=UPDATES,
            drop_pending_updates=False,
            secret_token=self.section.secret.get_secret_value(),
        )

    async def close(self) -> None:
        """Stop listening once updates in progress are committed.

        The webhook stays set: what people do in the meantime waits at Telegram for the next start.
        """
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    async def problem(self) -> str:
        """Return what keeps updates from coming in; empty if nothing does.

        Raises:
            TelegramError: Telegram cannot be asked.
        """
        info = await self.app.bot.get_webhook_info()
        if info.url != self.section.url:
            return (
                "Another program set this bot's webhook to another address. Give each gateway its "
                "own bot, or restart this one to receive the answers again."
            )
        return delivery_problem(info, self._heard_at)

    async def _listen(self) -> "Listener":
        from aiohttp import web  # noqa: PLC0415 - as above

        from channels.listener import Listener  # noqa: PLC0415 - as above

        server = web.Application()
        server.router.add_post(self.section.path, self._take)
        try:
            return await Listener.open(server, *self.section.address, _STOP_PATIENCE_S)
        except OSError as error:
            words = (
                f"channels.telegram.webhook.listen {self.section.listen} cannot be used: {error}"
            )
            raise ChannelError(f"{words}. Free the port or choose another.") from error

    async def _take(self, request: "web.Request") -> "web.Response":
        from aiohttp import web  # noqa: PLC0415 - as above

        return web.Response(status=await self._status(request))

    async def _status(self, request: "web.Request") -> HTTPStatus:
        given = request.headers.get(_SECRET_HEADER, "").encode()
        if not hmac.compare_digest(given, self.section.secret.get_secret_value().encode()):
            _log.warning("A webhook request without the secret token was refused.")
            return HTTPStatus.FORBIDDEN
        self._heard_at = time.time()
        update = _parsed(await request.read(), self.app)
        if update is None:
            _log.warning("A webhook request without an update was refused.")
            return HTTPStatus.BAD_REQUEST
        if update not in self.handled:
            await self.app.process_update(update)
        return HTTPStatus.OK if update in self.handled else HTTPStatus.SERVICE_UNAVAILABLE


def _parsed(body: bytes, app: App) -> Update | None:
    try:
        found = parsed(body)
        if not isinstance(found, dict) or not isinstance(found.get("update_id"), int):
            return None
        return Update.de_json(found, app.bot)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def delivery_problem(info: WebhookInfo, heard_at: float) -> str:
    """Return why Telegram cannot deliver waiting updates; empty if it has since (epoch s)."""
    failed_at = info.last_error_date.timestamp() if info.last_error_date else 0.0
    if not info.pending_update_count or failed_at <= heard_at:
        return ""
    said = redact(info.last_error_message or "no reason given")
    return f"Telegram cannot deliver to webhook.url: {said}. Check the proxy and its certificate."
