"""Ask people on Discord, with discord.py on one gateway connection."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import discord

from channels.base import Health, Inbox
from channels.cards import NoticeCard, OutcomeCard, PromptCard
from channels.discord.answers import Answers
from channels.discord.errors import FAILURES, archived, gone, translate
from channels.discord.gateway import GatewayClient
from channels.discord.incoming import DIRECT, NAME
from channels.discord.line import Line
from channels.discord.sending import send
from channels.discord.session import SessionFile
from channels.discord.settings import DiscordSettings
from channels.discord.status import Status
from channels.discord.views import Message, nonce, render_notice, render_outcome, render_prompt
from core.errors import ChannelError
from core.model.identity import Target

_START_PATIENCE_S = 5.0
_CALL_PATIENCE_S = 20.0
"""The library retries for 25 s and waits 300 s for an answer; the outbox's claim ends before."""
_NOT_CONNECTED_MS = 1_000
_ENDPOINT = (
    "The application has an Interactions Endpoint URL, so Discord sends presses there and not here."
    " Clear it in the Developer Portal (General Information)."
)

_Place = discord.DMChannel | discord.PartialMessageable


class DiscordChannel:
    """A Discord bot as a place where people are asked.

    ``Target.to`` is a channel's id, or ``user:<id>`` for a direct message; ``thread`` a thread's.
    ``session_path`` is a file that keeps the gateway session, so that a gateway that restarts
    within minutes still gets what was pressed meanwhile; without it only the same object does.
    """

    def __init__(self, settings: DiscordSettings, session_path: Path | None = None) -> None:
        self._settings = settings
        self._kept = SessionFile(session_path)
        self._line: Line | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Return ``discord``."""
        return NAME

    async def start(self, inbox: Inbox) -> None:
        """Connect in the background; wait for the first attempt, a few seconds at most."""
        if self._running is not None:
            return
        status = Status()
        self._answers = Answers(inbox)

        def make() -> GatewayClient:
            return GatewayClient(self._settings, self._answers, self._kept, status)

        self._line = Line(self._settings, make, status, make())
        self._running = asyncio.create_task(self._line.run())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(status.tried.wait(), _START_PATIENCE_S)

    async def stop(self) -> None:
        """Let what is in hand be committed, keep the session, close every connection."""
        line, running = self._line, self._running
        if line is None or running is None:
            return
        self._line, self._running = None, None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await self._answers.finish()
        await line.client.leave()

    async def check(self) -> Health:
        """Say whether the gateway and the REST API work, or what keeps them from it."""
        if self._line is None:
            return Health(ok=False, detail="not started")
        if self._line.status.problem:
            return Health(ok=False, detail=self._line.status.problem)
        try:
            async with _calling():
                us = await self._line.client.application_info()
        except ChannelError as error:
            return Health(ok=False, detail=str(error))
        if us.interactions_endpoint_url is not None:
            return Health(ok=False, detail=_ENDPOINT)
        return Health(ok=True, detail=f"connected as {self._line.client.user}")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Send a prompt; the message with the buttons goes last, and its id is returned."""
        return await self._send_all(target, card.id, render_prompt(card))

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        subject = hashlib.sha256(card.text.text.encode()).hexdigest()
        return await self._send_all(target, subject, render_notice(card))

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state; the edit takes its buttons away."""
        content = render_outcome(card).content
        async with _calling():
            try:
                await self._edit(target, int(message), content)
            except discord.HTTPException as error:
                if gone(error):
                    return
                if not archived(error):
                    raise
                await self._wake(target)
                await self._edit(target, int(message), content)

    def _connected(self) -> GatewayClient:
        line = self._line
        if line is None or line.client.application_id is None or line.status.permanent:
            problem = line.status.problem if line else "not started"
            permanent = line is not None and line.status.permanent
            wait = None if permanent else _NOT_CONNECTED_MS
            words = f"Discord is not connected: {problem}"
            raise ChannelError(words, retry_after_ms=wait, permanent=permanent)
        return line.client

    async def _place(self, target: Target) -> _Place:
        client = self._connected()
        place = target.thread or target.to
        number = place.removeprefix(DIRECT)
        if not number.isdecimal():
            raise ChannelError(
                f"{place!r} is no place on Discord. Set the target's `to` to a channel's id, or to "
                f"{DIRECT} and a user's id.",
                permanent=True,
            )
        if number != place:
            return await client.create_dm(discord.Object(int(number)))
        return client.get_partial_messageable(int(number))

    async def _send_all(self, target: Target, subject: str, messages: tuple[Message, ...]) -> str:
        sent = ""
        async with _calling():
            place = await self._place(target)
            for number, message in enumerate(messages):
                once = nonce(subject, target, number)
                sent = str((await send(place, message, once)).id)
        return sent

    async def _edit(self, target: Target, message: int, content: str) -> None:
        place = await self._place(target)
        await place.get_partial_message(message).edit(content=content, view=None)

    async def _wake(self, target: Target) -> None:
        thread = await self._connected().fetch_channel(int(target.thread or target.to))
        if isinstance(thread, discord.Thread):
            await thread.edit(archived=False)


@contextlib.asynccontextmanager
async def _calling() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_CALL_PATIENCE_S):
            yield
    except FAILURES as error:
        raise translate(error) from error
