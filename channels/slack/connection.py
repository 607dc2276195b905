"""Stay connected to Slack between start and stop, and pass on what comes in."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from channels.base import UNREADABLE, Inbox, failure_of
from channels.slack.errors import FAILURES, translate
from channels.slack.inbound import Receiver
from channels.slack.inbound_events import Identity, InboundAction, read_action
from channels.slack.log_redaction import library_logger
from channels.slack.membership import Membership
from channels.slack.outbound import Deliveries
from channels.slack.person_names import PersonNames
from channels.slack.replies import Replies
from channels.slack.settings import Mode, SlackSettings
from channels.slack.transport import HttpTransport, SocketTransport, Transport
from channels.slack.web_api import CALL_TIMEOUT, Calls, web_client
from core.errors import ChannelError

_log = logging.getLogger(__name__)
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 30.0
_NOT_CONNECTED_MS = 1_000
_TAKEN = 200
_SEND_AGAIN = 503


class Connection:
    """The outgoing calls and the incoming events; created inside the running loop."""

    def __init__(self, settings: SlackSettings, inbox: Inbox) -> None:
        self._settings = settings
        self._session = aiohttp.ClientSession(timeout=CALL_TIMEOUT)
        self._calls = Calls(self._client(settings.bot_token.get_secret_value()))
        self._deliveries = Deliveries(self._calls)
        self._replies = Replies(self._calls)
        groups = Membership(self._calls, settings.groups)
        self._receiver = Receiver(inbox, groups, PersonNames(self._calls), self._replies)
        self._transport: Transport | None = None
        self._problem = "connecting"

    @property
    def calls(self) -> Calls:
        """Return the Web API, once our identity is known.

        Raises:
            ChannelError: not connected yet.
        """
        self._known()
        return self._calls

    @property
    def deliveries(self) -> Deliveries:
        """Return what sends prompts, once our identity is known.

        Raises:
            ChannelError: not connected yet.
        """
        self._known()
        return self._deliveries

    async def keep(self, tried: asyncio.Event) -> None:
        """Connect, and reconnect whenever needed; ``tried`` is set after the first attempt."""
        wait = _FIRST_RETRY_S
        while True:
            try:
                transport = await self._connect()
            except Exception as error:  # noqa: BLE001 - no error may end the channel in silence
                part = "The connection to Slack"
                self._problem = str(failure_of(error, part, FAILURES, translate))
                tried.set()
                _log.warning("%s Trying again in %.0f s.", self._problem, wait)
                await self._hang_up()
                await asyncio.sleep(wait)
                wait = min(2 * wait, _LONGEST_RETRY_S)
                continue
            self._problem, wait = "", _FIRST_RETRY_S
            tried.set()
            await transport.hold()
            _log.warning("The socket to Slack was lost; reconnecting.")
            await self._hang_up()

    async def problem(self) -> str:
        """Return what currently keeps answers from coming in; empty if all is well."""
        return self._problem or (
            await self._transport.problem() if self._transport else "not listening"
        )

    async def close(self) -> None:
        """Stop listening, let events in progress be committed, close every connection."""
        await self._hang_up()
        await self._receiver.finish()
        await self._replies.background.finish()
        await self._session.close()

    def _known(self) -> None:
        if not self._deliveries.our_user:
            words = f"Slack is not connected: {self._problem}"
            raise ChannelError(words, retry_after_ms=_NOT_CONNECTED_MS)

    async def _connect(self) -> Transport:
        us = await self._calls.who_we_are()
        self._deliveries.our_user = us.user
        self._transport = self._make_transport(us)
        try:
            await self._transport.open()
        except FAILURES as error:
            raise translate(error) from error
        return self._transport

    async def _hang_up(self) -> None:
        # A transport whose closing was cancelled still exists, and is closed again.
        if self._transport is not None:
            try:
                await self._transport.close()
            except FAILURES as error:
                _log.info("The connection to Slack did not close cleanly: %s", translate(error))
            self._transport = None

    def _make_transport(self, us: Identity) -> Transport:
        settings = self._settings
        if settings.mode is Mode.HTTP:
            return HttpTransport(self._app(us), *settings.address)
        token = settings.app_token.get_secret_value() if settings.app_token else ""
        return SocketTransport(self._app(us), self._client(None), token, settings.ping_interval)

    def _app(self, us: Identity) -> AsyncApp:
        secret = self._settings.signing_secret
        known = AuthorizeResult(
            enterprise_id=None, team_id=us.team, bot_user_id=us.user, bot_id=us.bot
        )

        # The library would ask Slack who we are at the first press, and lose it if that failed.
        async def authorize() -> AuthorizeResult:
            return known

        async def take(body: Mapping[str, Any]) -> BoltResponse:
            return await self._take(body, us)

        app = AsyncApp(
            name="channels.slack.app",
            logger=library_logger(),
            client=self._client(None),
            signing_secret=secret.get_secret_value() if secret else "",
            authorize=authorize,
        )
        # As middleware and not as a listener: a listener's answer is polled for every 10 ms, and
        # the one to an event is sent before it is handled.
        app.middleware(take)
        return app

    async def _take(self, body: Mapping[str, Any], us: Identity) -> BoltResponse:
        try:
            found = read_action(body, us)
        except UNREADABLE as error:
            _log.warning("What a person did could not be read, so it is lost: %s", translate(error))
            return BoltResponse(status=_TAKEN)
        try:
            concerns_us = found is not None and await self._is_ours(found, us)
        except ChannelError as error:
            _log.warning("Cannot look up whose thread a reply is in: %s", error)
            return BoltResponse(status=_TAKEN if error.permanent else _SEND_AGAIN)
        if found is None or not concerns_us:
            return BoltResponse(status=_TAKEN)
        committed = await self._receiver.take(found)
        # Slack redelivers an event, but never a press or a command.
        again = "event" in body and not committed
        return BoltResponse(status=_SEND_AGAIN if again else _TAKEN)

    async def _is_ours(self, found: InboundAction, us: Identity) -> bool:
        """Return whether a reply is below one of our messages, if its event leaves that out."""
        if not found.unproved:
            return True
        return await self._calls.author(found.reply_to.channel, found.reply_to.thread) == us.user

    def _client(self, token: str | None) -> AsyncWebClient:
        return web_client(self._settings.api_base_url, self._session, token)
