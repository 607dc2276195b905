"""Return what questions of a tier need beyond what others need."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.model.decision import Tier
from core.settings.approvals import TierSection, TiersSection
from core.settings.base import milliseconds


@dataclass(frozen=True, slots=True)
class TierTerms:
    """What one tier asks for; ``None`` leaves what holds for others. ``timeout_ms`` is in ms.

    ``step_up``: only a typed answer allows it, no button.
    """

    quorum: int | None = None
    timeout_ms: int | None = None
    step_up: bool = False

    def needed(self, others: int) -> int:
        """Return how many people must allow, where ``others`` do for a question without a tier."""
        return max(others, self.quorum or 1)


NO_TERMS = TierTerms()


def tiers_of(section: TiersSection) -> Mapping[Tier, TierTerms]:
    """Return the terms of each tier that the configuration speaks of."""
    return {Tier.ELEVATED: _terms(section.elevated), Tier.CRITICAL: _terms(section.critical)}


def _terms(section: TierSection) -> TierTerms:
    timeout_ms = None if section.timeout is None else milliseconds(section.timeout)
    return TierTerms(section.quorum, timeout_ms, section.step_up)
