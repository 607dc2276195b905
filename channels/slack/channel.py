"""Ask people on Slack, with slack-bolt in Socket Mode or behind signed HTTP requests."""

import asyncio
import contextlib

from channels.base import Health, Inbox
from channels.cards import NoticeCard, OutcomeCard, PromptCard
from channels.slack.blocks import body, render_notice, render_outcome
from channels.slack.connection import Connection
from channels.slack.events import NAME, message_id
from channels.slack.settings import SlackSettings
from core.errors import ChannelError
from core.model.identity import Target

_START_PATIENCE_S = 5.0
_NOT_CONNECTED_MS = 1_000


class SlackChannel:
    """A Slack app as a place where people are asked.

    ``start`` connects in the background: an outage delays prompts, it does not keep the gateway
    from starting. A message id is ``channel:timestamp``, since a prompt to a member (``U…``) stands
    in a conversation with an id of its own (``D…``).
    """

    def __init__(self, settings: SlackSettings) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """Return ``slack``."""
        return NAME

    async def start(self, inbox: Inbox) -> None:
        """Connect and begin to listen; wait for the first attempt, a few seconds at most."""
        tried = asyncio.Event()
        self._connection = Connection(self._settings, inbox)
        self._keeping = asyncio.create_task(self._connection.keep(tried))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_PATIENCE_S):
                await tried.wait()

    async def stop(self) -> None:
        """Stop listening, let what is in hand be committed, close every connection."""
        connection, keeping = self._connection, self._keeping
        if connection is None or keeping is None:
            return
        self._connection, self._keeping = None, None
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await connection.close()

    async def check(self) -> Health:
        """Say whether calls and answers get through, or what keeps them from it."""
        if self._connection is None:
            return Health(ok=False, detail="not started")
        if problem := await self._connection.problem():
            return Health(ok=False, detail=problem)
        try:
            us = await self._connection.calls.who_we_are()
        except ChannelError as error:
            return Health(ok=False, detail=str(error))
        return Health(ok=True, detail=f"listening as @{us.name} (mode {self._settings.mode})")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Send a prompt; the message with the buttons goes last, and its id is returned."""
        return await self._connected().deliveries.send(target, card)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        calls = self._connected().calls
        channel = await calls.conversation(target.to)
        place = Target(target.channel, channel, target.account, target.thread)
        ts = ""
        for message in render_notice(card):
            ts = await calls.post(body(message, place), patient=bool(ts))
        return message_id(channel, ts)

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state, without buttons."""
        channel, colon, ts = message.partition(":")
        if not colon:
            channel, ts = target.to, message
        await self._connected().calls.update(channel, ts, render_outcome(card))

    def _connected(self) -> Connection:
        if self._connection is None:
            words = "Slack is not connected: not started"
            raise ChannelError(words, retry_after_ms=_NOT_CONNECTED_MS)
        return self._connection
