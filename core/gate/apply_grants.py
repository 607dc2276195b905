"""Apply grants: run what people granted for a while without another question.

A grant adds the patterns that its prompt promised to the agent's allowlist, and the plan is judged
again. So it lifts exactly what allow-always would have lifted: never a denial, a hidden program, an
unreadable line or an environment change, and ``ask: always`` keeps asking. A script may change in
the meantime: that is what a limit is for (decision 21).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.approvals.messages import person
from core.gate.effective_policy import Rulebook
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation
from core.model.policy import ExecPolicy
from core.policy.judge.reasons import WHY
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.allowlist_union import Either
from core.store import Store
from core.store.approvals import grants
from core.store.approvals.grants import Grant, GrantSpent


@dataclass(frozen=True, slots=True)
class Granted:
    """Re-evaluate a question under the grants that are active now."""

    store: Store
    rulebook: Rulebook

    async def lift(
        self, plan: ExecPlan, policy: ExecPolicy, asked: Evaluation
    ) -> Evaluation | None:
        """Return the evaluation that allows the plan, its grants used; ``None`` still asks.

        Raises:
            StoreError: the grants cannot be read or used, so nothing runs.
        """
        idle_ms = self.rulebook.idle_ms
        whose = plan.agent, plan.session, idle_ms, plan.task
        active = await self.store.read(grants.active, *whose)
        if not active:
            return None
        found = lifted(self.rulebook, plan, policy, asked, active)
        if found is None:
            return None
        evaluation, needed = found
        try:
            await self.store.write(grants.use, tuple(grant.id for grant in needed), idle_ms)
        except GrantSpent:
            return None
        return evaluation


def _with_grants(own: Allowlist, given: Sequence[Grant], home: str) -> Allowlist:
    """Return an agent's own allowlist plus what grants promised."""
    promised = (AllowlistEntry(p.pattern, argv=p.argv) for grant in given for p in grant.promise)
    return Either(own, Allowlist(promised, home))


def lifted(
    book: Rulebook, plan: ExecPlan, policy: ExecPolicy, asked: Evaluation, active: Sequence[Grant]
) -> tuple[Evaluation, tuple[Grant, ...]] | None:
    """Return the evaluation that allows a plan and the grants that it needs, ``None`` if none."""

    def judged(given: Sequence[Grant]) -> Evaluation:
        own = book.allowlist(plan.agent)
        return book.judge(plan, policy, _with_grants(own, given, book.home))

    found = judged(active)
    if found.decision is not Decision.ALLOW:
        return None
    needed = _needed(active, judged)
    return _named(asked, found, needed), needed


def _needed(
    active: Sequence[Grant], judged: Callable[[Sequence[Grant]], Evaluation]
) -> tuple[Grant, ...]:
    """Return a smallest set of grants that allows the plan; counted ones are spared first."""
    needed = list(active)
    for grant in reversed(active):
        fewer = [other for other in needed if other is not grant]
        if judged(fewer).decision is Decision.ALLOW:
            needed = fewer
    return tuple(needed)


def _named(asked: Evaluation, found: Evaluation, needed: tuple[Grant, ...]) -> Evaluation:
    """Name the grants as the rule of each segment that was asked about."""
    rule = "; ".join(rule_of(grant) for grant in needed)
    segments = tuple(
        now if before.decision is Decision.ALLOW else replace(now, rule=rule)
        for before, now in zip(asked.segments, found.segments, strict=True)
    )
    return replace(found, why=WHY[found.reason].format(rule=rule), segments=segments)


def rule_of(grant: Grant) -> str:
    """Format a grant as a rule: ``granted until 12:30 UTC by Ana (slack), grant 7K3F9Q``."""
    until = "" if grant.expires_ms is None else f" until {_minute(grant.expires_ms)}"
    runs = "run" if grant.uses_left == 1 else "runs"
    count = "" if grant.uses_left is None else f" for {grant.uses_left} more {runs}"
    where = "" if grant.session is None else " in this session"
    where += "" if grant.task is None else f" in task {grant.task}"
    return f"granted{until}{count}{where} by {person(grant.by)}, grant {grant.code}"


def _minute(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M UTC")
