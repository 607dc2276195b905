"""Ask people on Discord, with discord.py on one gateway connection."""

import asyncio
import contextlib
import hashlib
from pathlib import Path

from channels.base import Health, Inbox, Proof
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.discord.connection import Connection
from channels.discord.connection_status import Status
from channels.discord.gateway_session import SessionFile
from channels.discord.inbound import Receiver
from channels.discord.inbound_events import NAME
from channels.discord.outbound import Deliveries, calling
from channels.discord.presses import Presses
from channels.discord.render import prompt_groups
from channels.discord.render.messages import (
    body,
    nonce,
    payloads,
    pieces,
    render_notice,
    render_outcome,
    render_prompt,
)
from channels.discord.self_check import ENDPOINT, prove
from channels.discord.settings import DiscordSettings
from channels.discord.transport import GatewayClient
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted

_START_PATIENCE_S = 5.0
_NOT_CONNECTED_MS = 1_000


class DiscordChannel:
    """A Discord bot as a place where people are asked.

    ``Target.to`` is a channel's id, or ``user:<id>`` for a direct message; ``thread`` a thread's.
    ``session_path`` is a file that keeps the gateway session, so that a gateway that restarts
    within minutes still gets what was pressed in the meantime; without it only the same object
    does.
    """

    def __init__(self, settings: DiscordSettings, session_path: Path | None = None) -> None:
        self._settings = settings
        self._kept = SessionFile(session_path)
        self._connection: Connection | None = None
        self._running: asyncio.Task[None] | None = None
        self._presses = Presses()
        self._deliveries = Deliveries(self._connected, self._presses)

    @property
    def name(self) -> str:
        """Return ``discord``."""
        return NAME

    async def start(self, inbox: Inbox) -> None:
        """Connect in the background; wait for the first attempt, a few seconds at most."""
        if self._running is not None:
            return
        status = Status()
        self._receiver = Receiver(inbox, self._presses)

        def make() -> GatewayClient:
            return GatewayClient(self._settings, self._receiver, self._kept, status)

        self._connection = Connection(self._settings, make, status, make())
        self._running = asyncio.create_task(self._connection.run())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(status.tried.wait(), _START_PATIENCE_S)

    async def stop(self) -> None:
        """Let events in progress be committed, keep the session, close every connection."""
        connection, running = self._connection, self._running
        if connection is None or running is None:
            return
        self._connection, self._running = None, None
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await self._receiver.finish()
        await connection.client.leave()

    async def check(self) -> Health:
        """Return whether the gateway and the REST API work, or why they do not."""
        if self._connection is None:
            return Health(ok=False, detail="not started")
        if self._connection.status.problem:
            return Health(ok=False, detail=self._connection.status.problem)
        try:
            async with calling():
                us = await self._connection.client.application_info()
        except ChannelError as error:
            return Health(ok=False, detail=str(error))
        if us.interactions_endpoint_url is not None:
            return Health(ok=False, detail=ENDPOINT)
        return Health(ok=True, detail=f"connected as {self._connection.client.user}")

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Check token, endpoint, intent, servers and these people, without a gateway connection."""
        return await prove(self._settings, people)

    async def post(self, target: Target, card: PromptCard) -> str:
        """Send a prompt; the message with the buttons comes last, and its id is returned."""
        return await self._deliveries.send(target, card.id, render_prompt(card))

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Find a prompt that may have been sent, alone or in a group, or send it."""
        made_ms = card.expires_at_ms - card.answer_within_ms
        found = await self._deliveries.find(target, card.id, made_ms)
        return found or await self.post(target, card)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Send a notice and return the id of its last message."""
        return await self._deliveries.send(target, _hash(card.text.text), render_notice(card))

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Send a reminder as the reply to a prompt and return its id."""
        subject = _hash(f"{message} {card.text.text}")
        return await self._deliveries.send(target, subject, render_notice(card), message)

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Edit a reminder to show how its question ended."""
        await self._deliveries.edit(target, message, render_notice(card)[0])

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Edit a prompt to its final state; the edit removes its buttons."""
        await self._deliveries.edit(target, message, render_outcome(card))

    def fits(self, cards: tuple[PromptCard, ...]) -> bool:
        """Return whether one message shows all of these in full, and later how each ended."""
        return prompt_groups.fits(cards)

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Send several prompts as one message and return its id."""
        group = (prompt_groups.render_group(cards),)
        return await self._deliveries.send(target, _group_subject(cards), group)

    def rendering(self, target: Target, cards: tuple[PromptCard, ...]) -> list[dict[str, object]]:
        """Return the bodies of the calls that post one prompt, or several as one message."""
        if len(cards) == 1:
            return payloads(cards[0], target)
        group, subject = prompt_groups.render_group(cards), _group_subject(cards)
        return [body(group, nonce(subject, target, 0))]

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Edit several prompts to their current state; only open ones keep their buttons."""
        await self._deliveries.edit(target, message, prompt_groups.render_group(cards))

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Open a public thread in a text channel, on a message if given, and return its place."""
        return await self._deliveries.open_thread(target, title, message)

    def pieces(self, text: Redacted, room: int) -> tuple[Redacted, ...]:
        """Cut a text into pieces that each fit one message, as Discord counts."""
        return pieces(text, room)

    def _connected(self) -> GatewayClient:
        connection = self._connection
        # Between two attempts the client of the first is closed, and that of the second not yet
        # created.
        if connection is None or not connection.is_open or connection.status.permanent:
            problem = connection.status.problem if connection else "not started"
            permanent = connection is not None and connection.status.permanent
            wait = None if permanent else _NOT_CONNECTED_MS
            words = f"Discord is not connected: {problem}"
            raise ChannelError(words, retry_after_ms=wait, permanent=permanent)
        return connection.client


def _group_subject(cards: tuple[PromptCard, ...]) -> str:
    return _hash(" ".join(card.id for card in cards))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
