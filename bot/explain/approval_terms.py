"""Return what a question would need: how many people, by its tier, and within what time."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.counted import counted
from bot.factories.channels import approvers, forwarding, timing
from bot.settings import Settings
from channels.cards.text import duration
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import Asker, Forwarding, Timing
from core.approvals.routing.tiers import NO_TERMS, TierTerms, tiers_of
from core.model.decision import Decision, Evaluation, Tier
from core.model.identity import AgentId, SessionKey, Target


class Terms(Protocol):
    """Who is asked, and within what time; ``core.approvals.ask.Asking`` is one."""

    @property
    def approvers(self) -> Approvers:
        """Return who may answer."""

    @property
    def forwarding(self) -> Forwarding:
        """Return where prompts go."""

    @property
    def timing(self) -> Timing:
        """Return how long a question is open."""

    @property
    def tiers(self) -> Mapping[Tier, TierTerms]:
        """Return what the tiers of riskier questions need."""

    @property
    def reachable(self) -> Callable[[Target], bool]:
        """Return whether the channel of a place is running."""


@dataclass(frozen=True, slots=True)
class ConfiguredTerms:
    """The terms of a configuration, outside of the gateway: every channel counts as running."""

    approvers: Approvers
    forwarding: Forwarding
    timing: Timing
    tiers: Mapping[Tier, TierTerms]
    reachable: Callable[[Target], bool] = lambda _place: True

    @classmethod
    def of(cls, settings: Settings) -> "ConfiguredTerms":
        """Return the terms of these settings."""
        tiers = tiers_of(settings.approvals.exec.tiers)
        return cls(approvers(settings), forwarding(settings), timing(settings), tiers)


@dataclass(frozen=True, slots=True)
class Asks:
    """What a question needs. ``timeout_ms`` is how long it stays open, in ms."""

    tier: Tier
    quorum: int
    timeout_ms: int

    @property
    def words(self) -> str:
        """Return it as text for a terminal."""
        people = counted(self.quorum, "person", "people")
        return f"{people} must allow it within {duration(self.timeout_ms)} (tier {self.tier})"

    def as_json(self) -> dict[str, object]:
        """Return it as JSON for programs."""
        return {"tier": self.tier, "quorum": self.quorum, "timeoutMs": self.timeout_ms}


def asks_of(terms: Terms, agent: AgentId, session: SessionKey, verdict: Evaluation) -> Asks | None:
    """Return what the question about a verdict would need, ``None`` if nobody is asked."""
    if verdict.decision is not Decision.ASK:
        return None
    people, tier = terms.approvers, terms.tiers.get(verdict.tier, NO_TERMS)
    times = terms.timing.within(tier.timeout_ms)
    ladder = terms.forwarding.ladder(
        Asker(agent, session, None, round(time.time() * 1000)),
        times.timeout_ms,
        times.remind_ms,
        lambda place: terms.reachable(place) and people.anybody(place.channel, agent),
    )
    return Asks(verdict.tier, tier.needed(people.needed(agent)), ladder.timeout_ms)
