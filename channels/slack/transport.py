"""Keep the connection for answers: a socket to Slack, or a listener for signed requests."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from channels.base import UNREADABLE
from channels.listener import Listener
from channels.slack.errors import FAILURES
from channels.slack.settings import PATH
from core.errors import ChannelError

_log = logging.getLogger(__name__)
_CONNECT_PATIENCE_S = 10.0
_CLOSE_PATIENCE_S = 2.0
_SILENT_PINGS = 5


_NO_ADDRESS = (
    "Slack gave no address for a socket. Turn Socket Mode on in the app's pages, and check "
    "channels.slack.apiBaseUrl."
)


@web.middleware
async def _refuse_unreadable(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what the library cannot read: it parses a body before it checks the signature."""
    try:
        return await handler(request)
    except UNREADABLE:
        _log.warning("A request that is not of Slack's form was refused.")
        return web.Response(status=HTTPStatus.BAD_REQUEST)


class Transport(Protocol):
    """One of the two ways to receive events."""

    async def open(self) -> None:
        """Start to listen.

        Raises:
            Exception: one of ``errors.FAILURES``, or a ``ChannelError``.
        """

    async def hold(self) -> None:
        """Return when the line is broken for good and should be reopened."""

    async def close(self) -> None:
        """Stop listening."""

    async def problem(self) -> str:
        """Return why nothing is coming in; empty if all is well."""


class _Handler(AsyncSocketModeHandler):
    """Tracks what is under way: the library forgets its tasks."""

    def __init__(self, line: "SocketTransport") -> None:
        self.under_way: set[asyncio.Task[Any]] = set()
        super().__init__(
            line.app, line.app_token, web_client=line.client, ping_interval=line.ping_interval
        )

    async def handle(self, client: Any, req: SocketModeRequest) -> None:  # noqa: ANN401 - the SDK's signature
        task = asyncio.current_task()
        if task is not None:
            self.under_way.add(task)
            task.add_done_callback(self.under_way.discard)
        await super().handle(client, req)


@dataclass(slots=True)
class _Watched:
    """The library's HTTP session; ``failed`` receives why the first socket could not be opened."""

    session: aiohttp.ClientSession
    failed: asyncio.Future[Exception] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def closed(self) -> bool:
        """Return whether the session was closed."""
        return self.session.closed

    async def ws_connect(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - the library's
        """Open a socket."""
        try:
            return await self.session.ws_connect(*given, **named)
        except FAILURES as error:
            if not self.failed.done():
                self.failed.set_result(error)
            raise

    async def close(self) -> None:
        """Close the session."""
        await self.session.close()


@dataclass(slots=True)
class SocketTransport:
    """Socket Mode: no public address; the library reconnects on its own.

    If it does not (it can retry forever with a ticket that Slack no longer accepts), ``hold``
    returns after five intervals without a connection.
    """

    app: AsyncApp
    client: AsyncWebClient
    app_token: str = field(repr=False)
    ping_interval: float
    _handler: _Handler | None = None

    async def open(self) -> None:
        """Ask for an address and connect to it."""
        self._handler = _Handler(self)
        # ``connect`` alone would hide why Slack refuses: it logs and retries forever.
        async with asyncio.timeout(_CONNECT_PATIENCE_S):
            address = await self._handler.client.issue_new_wss_url()
            if not str(address or "").startswith(("ws://", "wss://")):
                raise ChannelError(_NO_ADDRESS)
            self._handler.client.wss_uri = address
            await self._connected(self._handler)

    async def _connected(self, handler: _Handler) -> None:
        """Connect, or raise the reason: the library retries forever with a used-up ticket."""
        watched = _Watched(handler.client.aiohttp_client_session)
        handler.client.aiohttp_client_session = watched  # type: ignore[assignment] # all it uses
        connecting = asyncio.ensure_future(handler.connect_async())  # type: ignore[no-untyped-call] # the SDK's
        try:
            await asyncio.wait({connecting, watched.failed}, return_when=asyncio.FIRST_COMPLETED)
            if watched.failed.done():
                raise watched.failed.result()
            await connecting
        finally:
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)

    async def hold(self) -> None:
        """Return when the socket has been gone for too long."""
        silent = 0
        while silent < _SILENT_PINGS:
            await asyncio.sleep(self.ping_interval)
            silent = silent + 1 if await self.problem() else 0

    async def close(self) -> None:
        """Let acknowledgements under way go out, disconnect, and end the library's tasks."""
        if self._handler is None:
            return
        handler, client = self._handler, self._handler.client
        if handler.under_way:
            await asyncio.wait(handler.under_way, timeout=_CLOSE_PATIENCE_S)
        # Not wait_for: it can swallow a cancellation (bpo-37658), and stop would wait forever.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_PATIENCE_S):
                await client.close()  # type: ignore[no-untyped-call] # the SDK's
        tasks = (client.message_processor, client.current_session_monitor, client.message_receiver)
        left = [task for task in tasks if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await client.aiohttp_client_session.close()
        self._handler = None

    async def problem(self) -> str:
        """Return why the socket is not connected; empty if it is."""
        if self._handler is not None and await self._handler.client.is_connected():
            return ""
        return "The socket to Slack is down; reconnecting."


@dataclass(slots=True)
class HttpTransport:
    """Signed requests to one of our addresses; the library checks signature and age."""

    app: AsyncApp
    host: str
    port: int
    _listener: Listener | None = None
    _broken: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self) -> None:
        """Listen; ``port`` 0 picks a free one.

        Raises:
            ChannelError: the address cannot listen.
        """
        server = self.app.web_app(path=PATH)
        server.middlewares.append(_refuse_unreadable)
        try:
            self._listener = await Listener.open(server, self.host, self.port, _CLOSE_PATIENCE_S)
        except OSError as error:
            words = f"channels.slack.listen: cannot listen on {self.host}:{self.port}"
            raise ChannelError(f"{words}: {error.strerror or error}") from error
        self.port = self._listener.port

    async def hold(self) -> None:
        """Wait forever: a listener does not break."""
        await self._broken.wait()

    async def close(self) -> None:
        """Let requests under way end, and stop listening."""
        if self._listener is not None:
            await self._listener.close()
            self._listener = None

    async def problem(self) -> str:
        """Return why the listener is not open; empty if it is."""
        return "" if self._listener is not None else "not listening"
