"""Let what people granted for a while run without another question.

A grant adds the patterns that its prompt promised to the agent's allowlist, and the plan is judged
anew. So it lifts exactly what allow-always would have lifted: never a denial, a wrapper, a carrier,
an unreadable line or an environment change, and ``ask: always`` keeps asking.
"""

from dataclasses import dataclass, field, replace

from core.approvals.sentences import clock_time, person
from core.gate.rulebook import Rulebook
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation, SegmentVerdict
from core.model.identity import AgentId, ApprovalId
from core.model.policy import ExecPolicy
from core.policy.allowlist import Allowlist
from core.policy.evaluate import evaluate
from core.policy.words import WHY
from core.store import Store, grants
from core.store.grants import Grant, GrantSpent


@dataclass(frozen=True, slots=True)
class _Index:
    """An agent's allowlist together with granted patterns, as indexed last."""

    own: tuple[AllowlistEntry, ...]
    patterns: tuple[str, ...]
    allowlist: Allowlist


@dataclass(frozen=True, slots=True)
class Granted:
    """Judge a question anew under the grants that hold now."""

    store: Store
    rulebook: Rulebook
    _indexed: dict[AgentId, _Index] = field(default_factory=dict)

    async def lift(
        self, plan: ExecPlan, policy: ExecPolicy, asked: Evaluation
    ) -> Evaluation | None:
        """Return the evaluation that allows the plan, its grants used; ``None`` still asks.

        Raises:
            StoreError: the grants cannot be read or used, so nothing runs.
        """
        active = await self.store.read(grants.active, plan.agent, plan.session)
        if not active:
            return None
        by_pattern: dict[str, Grant] = {}
        for grant in active:
            for pattern in grant.promise:
                by_pattern.setdefault(pattern, grant)
        found = evaluate(plan, policy, self._widened(plan, tuple(by_pattern)))
        if found.decision is not Decision.ALLOW:
            return None
        lifted = _lifted(asked, found, by_pattern)
        return _named(found, lifted) if await self._used(lifted) else None

    def _widened(self, plan: ExecPlan, patterns: tuple[str, ...]) -> Allowlist:
        """Return the agent's allowlist with these patterns, indexed anew only when it changed."""
        own = self.rulebook.file.entries(plan.agent)
        known = self._indexed.get(plan.agent)
        if known is not None and known.own is own and known.patterns == patterns:
            return known.allowlist
        granted = tuple(AllowlistEntry(pattern) for pattern in patterns)
        allowlist = Allowlist((*own, *granted), self.rulebook.home)
        self._indexed[plan.agent] = _Index(own, patterns, allowlist)
        return allowlist

    async def _used(self, lifted: dict[int, Grant]) -> bool:
        ids: tuple[ApprovalId, ...] = tuple(dict.fromkeys(g.id for g in lifted.values()))
        try:
            await self.store.write(grants.use, ids)
        except GrantSpent:
            return False
        return True


def _lifted(asked: Evaluation, found: Evaluation, by_pattern: dict[str, Grant]) -> dict[int, Grant]:
    """Return the grant of each segment that was asked about and is allowed now."""
    pairs = enumerate(zip(asked.segments, found.segments, strict=True))
    return {
        place: by_pattern[now.rule]
        for place, (before, now) in pairs
        if before.decision is not Decision.ALLOW and now.rule in by_pattern
    }


def _named(found: Evaluation, lifted: dict[int, Grant]) -> Evaluation:
    """Name the grants as the rules that let the segments through."""
    segments = tuple(
        replace(verdict, rule=rule_of(lifted[place])) if place in lifted else verdict
        for place, verdict in enumerate(found.segments)
    )
    first = next((segments[place] for place in lifted), segments[0])
    return replace(found, why=_why(first), segments=segments)


def _why(verdict: SegmentVerdict) -> str:
    return WHY[verdict.reason].format(rule=verdict.rule)


def rule_of(grant: Grant) -> str:
    """Word a grant as a rule: ``granted until 12:30:00 UTC by Ana (slack), grant 7K3F9Q``."""
    until = "" if grant.expires_ms is None else f" until {clock_time(grant.expires_ms)}"
    count = "" if grant.uses_left is None else f" for {grant.uses_left} more runs"
    where = "" if grant.session is None else " in this session"
    return f"granted{until}{count}{where} by {person(grant.by)}, grant {grant.code}"
