"""Send a gate proof as a chat would: ``/run`` through the inbox that every channel uses.

Only listed senders may ``/run``, so this process lists its own sender for as long as it runs: an
account that is a random number, in a channel that does not exist.
"""

import asyncio
import secrets

from bot.gate_proof.entry_points import ProofAnswer
from channels.base import Inbound, Inbox, Tone
from channels.commands import RunLine
from core.approvals.routing.principals import Listing
from core.errors import SaysoError
from core.gate.guards.marks import SESSION, Mark
from core.model.identity import Actor, Target

_PLACE = Target(SESSION, "proof")
_PATIENCE_S = 1.0
"""Shorter than the time after which a chat promises to report the end, which fills the outbox."""


class ProvingSender:
    """The sender that only this process can be."""

    def __init__(self) -> None:
        self.actor = Actor(SESSION, secrets.token_hex(16), SESSION)

    def joined(self, senders: Listing) -> Listing:
        """Return the senders with this one among them."""
        channel = self.actor.channel
        own = senders.by_channel.get(channel, frozenset()) | {self.actor.account}
        return Listing({**senders.by_channel, channel: own}, senders.everywhere)


class ChatEntryPoint:
    """The entry point ``/run`` in a chat."""

    name = "chat"

    def __init__(self, inbox: Inbox, sender: ProvingSender) -> None:
        self._inbox = inbox
        self._actor = sender.actor

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Send ``/run …`` and read the reply: a refusal, or buttons that stop what runs."""
        said = Inbound(self._actor, _PLACE, RunLine(mark.line), f"{SESSION}:{mark.nonce}")
        async with asyncio.timeout(_PATIENCE_S):
            reply = await self._inbox.receive(said)
        if reply.choices:
            return ProofAnswer.RAN
        if reply.tone is Tone.REFUSED:
            return ProofAnswer.HELD
        raise SaysoError("the chat did not answer with a refusal")
