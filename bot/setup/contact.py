"""Find a person's account and chat by the code that this terminal shows.

A name can be anybody's, and the first person to write to the bot may not be its owner; the code is
shown to nobody else.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final, Protocol

from bot.setup.choices import Contact
from channels.base import Channel, Inbound, Linkable, Proof, Provable, Reply, Tone
from channels.commands import Pair
from core.errors import ChannelError
from core.store.people.pairing import draw_code
from core.text.render import phrase, redact

_WRONG: Final = "Unknown code. `sayso init` shows the code in its terminal."
_WAITING: Final = "Sayso is being set up. Send the code that its terminal shows: /pair CODE"
_TOO_MANY: Final = (
    "Somebody sent too many wrong codes, so nothing was written. Run `sayso init` again; send the "
    "code in a direct message to the bot."
)
_LOOK_S: Final = 1.0
MOST_TRIES: Final = 10
_LINKED: Final = "You can now answer Sayso's prompts; they are shown in this chat."


@dataclass(slots=True)
class CodeInbox:
    """Accepts one code from any sender; everything else gets a reply and changes nothing."""

    code: str
    found: asyncio.Future[Contact] = field(default_factory=asyncio.Future)
    tries: int = 0

    async def receive(self, inbound: Inbound) -> Reply:
        """Record the sender of the code, once."""
        if not isinstance(inbound.command, Pair):
            return Reply(phrase(_WAITING), Tone.INFO)
        if self.found.done():
            return Reply(phrase(_WRONG), Tone.REFUSED)
        if inbound.command.code.upper() != self.code:
            self.tries += 1
            if self.tries == MOST_TRIES:
                self.found.set_exception(ChannelError(_TOO_MANY, permanent=True))
            return Reply(phrase(_WRONG), Tone.REFUSED)
        actor = inbound.actor
        self.found.set_result(Contact(actor.account, inbound.place.to, redact(actor.name).text))
        return Reply(phrase(_LINKED), Tone.OK)


class CodeScreen(Protocol):
    """Shows the code, and what keeps it from arriving."""

    def code(self, code: str, bot: str, link: str) -> None:
        """Show the code, what the platform says about the bot, and a link that sends the code."""

    def trouble(self, detail: str) -> None:
        """Show why nothing arrives."""


@dataclass(frozen=True, slots=True)
class Search:
    """The search for the sender of a code on a channel, for a number of seconds."""

    channel: Channel
    seconds: float
    screen: CodeScreen

    async def find(self) -> Contact:
        """Connect, check the tokens, show a code, and wait for its sender.

        Raises:
            ChannelError: a token is wrong, the platform cannot be reached, or nobody sent the code.
        """
        channel = self.channel
        proofs = await _checked(channel)
        inbox = CodeInbox(draw_code())
        await channel.start(inbox)
        try:
            link = channel.pair_link(inbox.code) if isinstance(channel, Linkable) else ""
            self.screen.code(inbox.code, proofs[0].detail if proofs else "", link)
            return await self._wait(inbox)
        finally:
            await channel.stop()

    async def _wait(self, inbox: CodeInbox) -> Contact:
        """Wait for the code; report each obstacle once.

        Raises:
            ChannelError: nobody sent it in time, or somebody is guessing.
        """
        shown: dict[str, None] = {}
        until = time.monotonic() + self.seconds
        while (left := until - time.monotonic()) > 0:
            done, _ = await asyncio.wait({inbox.found}, timeout=min(_LOOK_S, left))
            if done:
                return inbox.found.result()
            health = await self.channel.check()
            if not health.ok and health.detail not in shown:
                shown[health.detail] = None
                self.screen.trouble(f"{self.channel.name}: {health.detail.rstrip('.')}.")
        why = "".join(f" {self.channel.name}: {detail.rstrip('.')}." for detail in shown)
        raise ChannelError(
            f"Nobody sent the code within {self.seconds:.0f} s, so nothing was written.{why} Run "
            "`sayso init` again.",
            permanent=True,
        )


async def _checked(channel: Channel) -> tuple[Proof, ...]:
    """Return what the platform says about the tokens.

    Raises:
        ChannelError: one of them does not work.
    """
    proofs = await channel.prove(()) if isinstance(channel, Provable) else ()
    for proof in proofs:
        if not proof.ok:
            raise ChannelError(
                f"{channel.name} {proof.subject}: {proof.detail.rstrip('.')}. Nothing was written; "
                "run `sayso init` again.",
                permanent=True,
            )
    return proofs
