"""Ask people on Slack, with slack-bolt in Socket Mode or behind signed HTTP requests."""

import asyncio
import contextlib
from dataclasses import replace

from channels.base import Health, Inbox, Proof
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.slack.connection import Connection
from channels.slack.inbound_events import NAME, message_id
from channels.slack.render.layout import Json
from channels.slack.render.messages import (
    Message,
    body,
    payloads,
    pieces,
    render_notice,
    render_outcome,
)
from channels.slack.render.prompt_groups import fits, render_group
from channels.slack.self_check import prove
from channels.slack.settings import SlackSettings
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted

_START_PATIENCE_S = 5.0
_NOT_CONNECTED_MS = 1_000


class SlackChannel:
    """A Slack app as a place where people are asked.

    ``start`` connects in the background: an outage delays prompts but does not keep the gateway
    from starting. A message id is ``channel:timestamp``, since a prompt to a member (``U…``) is in
    a conversation with its own id (``D…``).
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
        """Connect and start to listen; wait for the first attempt, a few seconds at most."""
        tried = asyncio.Event()
        self._connection = Connection(self._settings, inbox)
        self._keeping = asyncio.create_task(self._connection.keep(tried))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_PATIENCE_S):
                await tried.wait()

    async def stop(self) -> None:
        """Stop listening, let events in progress be committed, close every connection."""
        connection, keeping = self._connection, self._keeping
        if connection is None or keeping is None:
            return
        self._connection, self._keeping = None, None
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await connection.close()

    async def check(self) -> Health:
        """Return whether calls and answers get through, or why they do not."""
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
        """Send a prompt; the message with the buttons comes last, and its id is returned."""
        return await self._connected().deliveries.send(target, card)

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Find a prompt that may have been sent, and send what is missing of it."""
        return await self._connected().deliveries.resume(target, card)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        return await self._notify(target, card)

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Send a reminder to the thread below a prompt, and also show it in the channel."""
        if target.thread:
            return await self._notify(target, card)
        root = message.rpartition(":")[2]
        return await self._notify(replace(target, thread=root), card, {"reply_broadcast": True})

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Edit a reminder to show how its question ended."""
        await self._edit(target, message, render_notice(card)[0])

    async def _notify(self, target: Target, card: NoticeCard, more: Json | None = None) -> str:
        calls = self._connected().calls
        channel = await calls.conversation(target.to)
        place, ts = replace(target, to=channel), ""
        for message in render_notice(card):
            made = body(message, place) | (more or {})
            ts = await calls.post(made, patient=bool(ts))
        return message_id(channel, ts)

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state, without buttons."""
        await self._edit(target, message, render_outcome(card))

    def fits(self, cards: tuple[PromptCard, ...]) -> bool:
        """Return whether one message shows all of these in full, as Slack counts."""
        return fits(cards)

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Send several prompts as one message and return its id."""
        return await self._connected().deliveries.send_group(target, cards)

    def rendering(self, target: Target, cards: tuple[PromptCard, ...]) -> list[dict[str, object]]:
        """Return the bodies of the calls that post one prompt, or several as one message."""
        return (
            payloads(cards[0], target) if len(cards) == 1 else [body(render_group(cards), target)]
        )

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Edit a group to its current state."""
        await self._edit(target, message, render_group(cards))

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Return the thread below a message; without one, send a message with the title first."""
        if message and not target.thread:
            return replace(target, thread=message.rpartition(":")[2])
        return await self._connected().deliveries.open_thread(target, title)

    def pieces(self, text: Redacted, room: int) -> tuple[Redacted, ...]:
        """Cut a text into pieces that each fit one message, as Slack counts."""
        return pieces(text, room)

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Check tokens, scopes and approver references; works without ``start``."""
        return await prove(self._settings, people)

    async def _edit(self, target: Target, message: str, made: Message) -> None:
        channel, colon, ts = message.partition(":")
        if not colon:
            channel, ts = target.to, message
        await self._connected().calls.update(channel, ts, made)

    def _connected(self) -> Connection:
        if self._connection is None:
            words = "Slack is not connected: not started"
            raise ChannelError(words, retry_after_ms=_NOT_CONNECTED_MS)
        return self._connection
