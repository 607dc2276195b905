"""Run the library's client on a gateway session that outlives its sockets.

The library's own loop starts each run with a new session and gives up on the first failure before a
session exists. This one resumes the session of the previous run, waits longer each time a socket
dies early (Discord resets a token that identifies too often), and reports why it has no connection.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import discord
import yarl
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route

from channels.base import UNREADABLE
from channels.discord.application_commands import register, typed
from channels.discord.connection_status import Status
from channels.discord.errors import FAILURES, translate
from channels.discord.gateway_session import InProgress, Session, SessionFile
from channels.discord.inbound import Receiver
from channels.discord.inbound_events import from_command, from_message, from_press, placed
from channels.discord.rate_limits import keep_limits
from channels.discord.render.buttons import ours, under_reply
from channels.discord.settings import DiscordSettings

_log = logging.getLogger(__name__)
_OPEN_PATIENCE_S = 60.0
_CLOSE_PATIENCE_S = 2.0
_READY_PATIENCE_S = 0.1
_SAVE_EVERY_S = 5.0
_SAVE_SOON_S = 0.25
"""A write may block for milliseconds, so it waits until a press and its edit are done."""
_IDENTIFY_EVERY_S = 5.0
_REFUSED_PAUSE_S = 1.0
_LONGEST_WAIT_S = 30.0
_SESSION_ENDED = (4003, 4007, 4009)
"""Close codes after which only a new session helps: unknown, bad sequence number, timed out."""
_BEGINNING, _INTERACTION = "READY", "INTERACTION_CREATE"
_INSISTED_ON = {"version": 1, "attachment_size_limit": 0}
"""Fields that the library requires of an interaction; nothing here reads them."""
_KEEP_SESSION = 4000
"""A close code after which the session can be resumed (API "Gateway", 1000 and 1001 end it)."""


class GatewayClient(discord.Client):
    """The library's client, as lean as it can be: no caches, no members, no message store."""

    def __init__(
        self, settings: DiscordSettings, receiver: Receiver, kept: SessionFile, status: Status
    ) -> None:
        # Suppress two warnings about voice, which is not used here.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=_intents(settings),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            guild_ready_timeout=_READY_PATIENCE_S,
            allowed_mentions=discord.AllowedMentions.none(),
        )
        keep_limits(self.http)
        parsers = self._connection.parsers
        parsers.update({event: _tolerant(event, parse) for event, parse in parsers.items()})
        self._status = status
        self._settings = settings
        self._receiver = receiver
        self._kept = kept
        self._in_progress = InProgress()
        self._saved_at = 0.0
        self._saving: asyncio.TimerHandle | None = None
        self._waits = 0

    async def setup_hook(self) -> None:
        """Register the slash commands."""
        await register(self)

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Limit IDENTIFY to one per 5 s, and pause for a second after a session was refused."""
        del shard_id
        since = time.monotonic() - self._status.identified_at
        await asyncio.sleep(max(0.0 if initial else _REFUSED_PAUSE_S, _IDENTIFY_EVERY_S - since))
        self._status.identified_at = time.monotonic()

    async def connect(self, *, reconnect: bool = True) -> None:
        """Hold a connection until it is refused or lost for a reason other than a dead socket.

        Raises:
            ConnectionClosed: the gateway refused it; the code says whether for good.
            OSError: the gateway cannot be reached.
        """
        del reconnect  # the caller decides
        initial = True
        while not self.is_closed():
            await asyncio.sleep(min(2**self._waits - 1, _LONGEST_WAIT_S))
            self._waits += 1
            try:
                await self._follow(initial=initial)
            except ReconnectWebSocket as order:
                _log.info("The gateway connection ended; next: %s", order.op)
                self._status.fails("The gateway connection was lost; connecting again.")
                if not order.resume or self._refused():
                    self._forget()
            except discord.ConnectionClosed:
                self._forget()
                raise
            initial = False

    async def leave(self) -> None:
        """Close the connection and keep the session, for the next run to resume."""
        ws = self._socket()
        if ws is not None:
            if ws.open:
                self._save()
            # A socket that is already closed may still have its heartbeat thread.
            with suppress(TimeoutError):
                await asyncio.wait_for(ws.close(_KEEP_SESSION), _CLOSE_PATIENCE_S)
        if self._saving is not None:
            self._saving.cancel()  # by then the file may hold the next client's session
        await self.close()

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Record an incoming event before it is handled."""
        ws = self._socket()
        if event in ("interaction", "message") and ws is not None:
            subject = args[0]
            if isinstance(subject, discord.Interaction | discord.Message):
                self._in_progress.begin(subject.id, ws.sequence or 0)
        # A closed client has no loop to run anything in; the library reports ready after a pause.
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def on_ready(self) -> None:
        """Record that a new session is established."""
        self._established()

    async def on_resumed(self) -> None:
        """Record that the session was resumed."""
        self._established()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Take a pressed button, from any run, or an application command."""
        with self._taking(interaction.id):
            match interaction.type:
                case discord.InteractionType.component:
                    await self._take_press(interaction)
                case discord.InteractionType.application_command:
                    await self._take_command(interaction)
                case _:
                    _log.debug("Ignoring an interaction of type %s", interaction.type)

    async def on_message(self, message: discord.Message) -> None:
        """Take a message."""
        with self._taking(message.id):
            us = self.user
            inbound = from_message(message, us, self._settings) if us is not None else None
            if inbound is not None:
                self._receiver.hold()
                await self._receiver.said(message, await placed(self, message, inbound))

    @contextmanager
    def _taking(self, event: int) -> Iterator[None]:
        """Mark an event as processed at the end, even if it cannot be read."""
        try:
            yield
        except FAILURES as error:
            _log.warning("What a person did could not be read, so it is lost: %s", translate(error))
        self._done(event)

    async def _take_press(self, interaction: discord.Interaction) -> None:
        # Read straight from the event: the library would rebuild the message's buttons.
        data: Mapping[str, object] = interaction.data or {}
        custom_id = str(data.get("custom_id", ""))
        inbound = from_press(interaction, custom_id, self._settings) if ours(custom_id) else None
        if inbound is not None:
            of_reply = under_reply(custom_id)
            await self._receiver.pressed(interaction, inbound, of_reply=of_reply)

    async def _take_command(self, interaction: discord.Interaction) -> None:
        inbound = from_command(interaction, typed(interaction), self._settings)
        if inbound is not None:
            await self._receiver.pressed(interaction, inbound)

    async def _follow(self, *, initial: bool) -> None:
        session = self._kept.load(self._owner())
        opening = _Socket.from_client(
            self,
            initial=initial,
            gateway=yarl.URL(session.url if session else await self._address()),
            session=session.id if session else None,
            sequence=session.sequence if session else None,
            resume=session is not None,
        )
        self.ws = await asyncio.wait_for(opening, _OPEN_PATIENCE_S)
        try:
            while True:
                await self.ws.poll_event()
                if time.monotonic() - self._saved_at > _SAVE_EVERY_S:
                    self._save()
        except ReconnectWebSocket:
            raise
        except Exception:  # re-raised in any case
            # The library closes its socket and heartbeat thread only if the socket died.
            await self.ws.close(_KEEP_SESSION)
            raise
        finally:
            self._save()

    async def _address(self) -> str:
        if self._settings.gateway_url is not None:
            return self._settings.gateway_url
        found = await self.http.request(Route("GET", "/gateway/bot"))
        return str(found["url"])

    def _socket(self) -> DiscordWebSocket | None:
        # The library declares an attribute that is None until the first socket is open.
        return self.ws

    def _refused(self) -> bool:
        # The library would resume the same session again and again.
        ws = self._socket()
        return ws is not None and ws.socket.close_code in _SESSION_ENDED

    def _forget(self) -> None:
        ws = self._socket()
        if ws is not None:
            ws.session_id = None
        self._kept.save(None)

    def _owner(self) -> str:
        # A resumed session keeps the intents that it began with, regardless of the configuration.
        return f"{self.application_id}:{self.intents.value}"

    def _established(self) -> None:
        self._waits = 0
        self._status.established()
        self._save()

    def _done(self, event: int) -> None:
        self._in_progress.end(event)
        if self._saving is None and not self.is_closed():
            self._saving = asyncio.get_running_loop().call_later(_SAVE_SOON_S, self._save)

    def _save(self) -> None:
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None
        ws = self._socket()
        if ws is None or ws.session_id is None or ws.sequence is None:
            return
        self._saved_at = time.monotonic()
        done = self._in_progress.done_up_to(ws.sequence)
        self._kept.save(Session(ws.session_id, done, str(ws.gateway), self._owner()))


class _Socket(DiscordWebSocket):
    """The library's socket; it is closed, with its heartbeat thread, if no session begins."""

    async def identify(self) -> None:
        """Begin a session."""
        async with self._closing():
            await super().identify()

    async def resume(self) -> None:
        """Resume a session."""
        async with self._closing():
            await super().resume()

    @asynccontextmanager
    async def _closing(self) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            # Otherwise the thread lives until its next beat, some 40 s later, and outlives its
            # loop.
            with suppress(TimeoutError):
                await asyncio.wait_for(self.close(_KEEP_SESSION), _CLOSE_PATIENCE_S)
            raise


def _tolerant(event: str, parse: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a parser in which no event can end the connection, except the one that begins it."""

    def parsed(data: Any) -> None:  # noqa: ANN401 - an event as the SDK hands it over
        try:
            parse({**_INSISTED_ON, **data} if event == _INTERACTION else data)
        except UNREADABLE as error:
            if event == _BEGINNING:
                raise
            _log.warning("An event %s of Discord is ignored: %s", event, translate(error))

    return parsed


def _intents(settings: DiscordSettings) -> discord.Intents:
    intents = discord.Intents.none()
    intents.guilds = True
    intents.guild_messages = True
    intents.dm_messages = True
    intents.message_content = settings.message_content
    return intents
