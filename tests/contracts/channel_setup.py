"""Set up what surrounds a channel under test: the inbox behind it, the people in front of it."""

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from channels.base import Channel, Inbound, Reply, Tone
from channels.cards.card import Choice
from channels.commands import Approve, Choose, Details, Malformed
from core.errors import SaysoError
from core.model.approval import HALF_HOUR, THIS_SESSION, ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.contracts.channel_examples import ID

_ALWAYS = ApprovalReply.ALLOW_ALWAYS
CHOICES = (
    Choice("Always", Approve(ID, _ALWAYS)),
    Choice("30 min", Approve(ID, _ALWAYS, terms=HALF_HOUR)),
    Choice("This session", Approve(ID, _ALWAYS, terms=THIS_SESSION)),
)
"""What the inbox of these tests offers behind "Always allow…"."""


@dataclass(slots=True)
class RecordingInbox:
    """Record what arrives and answer with true-looking sentences."""

    got: list[Inbound] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    delay: float = 0.0
    reply: str = "Allowed once: 7K3F9Q."
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event | None = None

    async def receive(self, inbound: Inbound) -> Reply:
        """Fail as often as set, then take an event once by its key; ``held``: not before that."""
        self.entered.set()
        if self.held is not None:
            await self.held.wait()
        await asyncio.sleep(self.delay)
        if self.failures:
            raise self.failures.pop(0)
        if inbound.key not in [known.key for known in self.got]:
            self.got.append(inbound)
        self.arrived.set()
        if isinstance(inbound.command, Malformed):
            return Reply(redact(inbound.command.usage), Tone.REFUSED)
        if isinstance(inbound.command, Choose):
            return Reply(redact("Always allow would store: /usr/bin/ls"), Tone.INFO, CHOICES)
        if isinstance(inbound.command, Details):
            return Reply(redact("Program: rm"))
        return Reply(redact(self.reply), Tone.OK)

    async def take(self, number: int = 1, seconds: float = 10.0) -> list[Inbound]:
        """Wait until this many events have arrived."""
        async with asyncio.timeout(seconds):
            while len(self.got) < number:
                self.arrived.clear()
                await self.arrived.wait()
        return self.got


class ChannelSetup(Protocol):
    """A channel together with the people at the other end."""

    channel: Channel
    target: Target

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a prompt's button, or do its equivalent; allow-always is "Always allow…"."""

    async def press_choice(self, label: str) -> None:
        """Press the button with this label under the newest reply that has it."""

    async def type(self, text: str) -> None:
        """Type a line into the place of the prompts."""

    async def sees(self, words: str) -> None:
        """Wait until a person was told these words."""

    async def shows(self, message: str, words: str) -> None:
        """Wait until the place shows these words for a message."""

    def can_press(self, message: str) -> bool:
        """Return whether a message still offers its answers."""


class PeopleSetup(ChannelSetup, Protocol):
    """A setup whose person, Ana, is known by an account, and who answers in every possible way."""

    account: str

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press the button of one prompt, in a message that may show several."""

    async def slash(self, text: str) -> None:
        """Send a line that begins with a slash, as the platform sends its own commands."""

    async def reply(self, message: str, text: str) -> None:
        """Reply to a prompt's message with these words."""


BROKEN_STORE = SaysoError("the store is away")
