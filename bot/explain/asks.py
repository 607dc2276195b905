"""Say what a question would need: how many people, by its tier, and in what time."""

import time
from dataclasses import dataclass

from bot.settings import Settings
from bot.surfaces import approvers, forwarding, timing
from core.approvals.forwarding import Asker
from core.approvals.tiers import NO_TERMS, tiers_of
from core.model.decision import Decision, Evaluation, Tier
from core.model.identity import AgentId, SessionKey


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question needs. ``timeout_ms`` is how long it stands, in ms."""

    tier: Tier
    quorum: int
    timeout_ms: int

    @property
    def words(self) -> str:
        """Return it for a terminal."""
        people = "1 person" if self.quorum == 1 else f"{self.quorum} people"
        return f"{people} must allow it within {self.timeout_ms / 1000:g} s (tier {self.tier})"

    def as_json(self) -> dict[str, object]:
        """Return it for programs."""
        return {"tier": self.tier, "quorum": self.quorum, "timeoutMs": self.timeout_ms}


def asks_of(
    settings: Settings, agent: AgentId, session: SessionKey, verdict: Evaluation
) -> Asks | None:
    """Return what the question about a verdict would need, ``None`` where nobody is asked."""
    if verdict.decision is not Decision.ASK:
        return None
    people = approvers(settings)
    terms = tiers_of(settings.approvals.exec.tiers).get(verdict.tier, NO_TERMS)
    times = timing(settings).within(terms.timeout_ms)
    ladder = forwarding(settings).ladder(
        Asker(agent, session, None, round(time.time() * 1000)),
        times.timeout_ms,
        times.remind_ms,
        lambda place: people.anybody(place.channel, agent),
    )
    return Asks(verdict.tier, terms.needed(people.needed(agent)), ladder.timeout_ms)
