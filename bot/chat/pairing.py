"""Link the account that sends a pairing code, and format the reply."""

from dataclasses import dataclass

from channels.base import Inbound, Reply, Tone
from channels.commands import Pair
from core.store import Store
from core.store.people.pairing import Paired, PairOutcome, pair
from core.text.render import phrase, redact

_WORDS = {
    PairOutcome.LINKED: "This account is now linked to {}.",
    PairOutcome.ALREADY: "This account is already linked to {}; nothing was changed.",
    PairOutcome.TAKEN: "This account was just linked; nothing was changed.",
    PairOutcome.WRONG: (
        "Unknown or expired code. Codes last ten minutes; get one with `sayso people pair`."
    ),
    PairOutcome.BLOCKED: "Too many wrong codes from this account. Try again in ten minutes.",
}


@dataclass(frozen=True, slots=True)
class Pairing:
    """Links accounts to people by the codes that the owner of the machine gave them."""

    store: Store

    async def take(self, inbound: Inbound) -> Reply | None:
        """Link the account that sent a code."""
        if not isinstance(inbound.command, Pair):
            return None
        return reply_for(await self.store.write(pair, inbound.command.code, inbound.actor))


def reply_for(paired: Paired) -> Reply:
    """Return the reply to the person who sent a code."""
    tone = Tone.OK if paired.outcome is PairOutcome.LINKED else Tone.REFUSED
    return Reply(phrase(_WORDS[paired.outcome], redact(paired.person or "")), tone)
