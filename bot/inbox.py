"""Hand what a person says or presses to the part that answers it."""

from dataclasses import dataclass
from typing import Protocol

from channels.base import Inbound, Reply, Tone
from channels.commands import HELP, Malformed
from core.approvals.rendering import redact


class Part(Protocol):
    """One part of what people may do in a chat."""

    async def take(self, inbound: Inbound) -> Reply | None:
        """Act on a command of this part; ``None`` where it is another part's.

        Raises:
            SaysoError: nothing was decided; the channel keeps the event and offers it again.
        """


@dataclass(frozen=True, slots=True)
class GateInbox:
    """The inbox that every channel hands its people's words to."""

    parts: tuple[Part, ...]

    async def receive(self, inbound: Inbound) -> Reply:
        """Act on one typed command and return what the person is told."""
        for part in self.parts:
            reply = await part.take(inbound)
            if reply is not None:
                return reply
        if isinstance(inbound.command, Malformed):
            return Reply(redact(inbound.command.usage, multiline=True), Tone.REFUSED)
        return Reply(redact(HELP, multiline=True))
