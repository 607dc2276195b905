"""Link the account that sends a pairing code, and word what became of it."""

from dataclasses import dataclass

from channels.base import Inbound, Reply, Tone
from channels.commands import Pair
from core.store import Store
from core.store.people.pairing import Paired, PairOutcome, pair
from core.text.render import phrase, redact

_WORDS = {
    PairOutcome.LINKED: "This account is {}'s now.",
    PairOutcome.ALREADY: "This account is {}'s already; nothing was changed.",
    PairOutcome.TAKEN: "This account was linked at the same moment; nothing was changed.",
    PairOutcome.WRONG: "No such code waits. Codes live ten minutes: `sayso people pair` shows one.",
    PairOutcome.BLOCKED: "Too many wrong codes from this account. Try again in ten minutes.",
}


@dataclass(frozen=True, slots=True)
class Pairing:
    """Linking accounts to people by the codes that the owner of the machine gave them."""

    store: Store

    async def take(self, inbound: Inbound) -> Reply | None:
        """Link the account that sent a code."""
        if not isinstance(inbound.command, Pair):
            return None
        return told(await self.store.write(pair, inbound.command.code, inbound.actor))


def told(paired: Paired) -> Reply:
    """Return what the person is told who sent a code."""
    tone = Tone.OK if paired.outcome is PairOutcome.LINKED else Tone.REFUSED
    return Reply(phrase(_WORDS[paired.outcome], redact(paired.person or "")), tone)
