"""Join what a node and its gateway say of one plan: the stricter holds (S1, decision 29)."""

from dataclasses import dataclass, replace
from typing import Protocol

from core.approvals.ask import NO_FALLBACK, Fallback
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Evaluation
from core.model.node import NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.planning.planner import Planner, Refusal


class NodePlanning(Protocol):
    """What has requests read and bound by other machines."""

    async def prepare(self, request: ExecRequest, policy: ExecPolicy) -> NodePlan | Refusal:
        """Have the node that is meant read, bind and judge a request; nothing runs."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A bound plan and what its node says of it; ``node`` is ``None`` for a plan of our own."""

    plan: ExecPlan
    node: NodePlan | None = None

    def with_gateways(self, own: Evaluation) -> Evaluation:
        """Return the stricter verdict.

        Where the node is the stricter one, allow-always is not offered: what the gateway would
        store does not change what the node's own file says.
        """
        if self.node is None or self.node.verdict.decision <= own.decision:
            return own
        verdict = self.node.verdict
        why = f"On node {self.plan.node_name}: {verdict.why}"
        return replace(verdict, why=why, promise=())

    def fallback(self, own: Fallback) -> Fallback:
        """Return what happens where nobody can be asked: both must let it run."""
        return own if self.node is None or self.node.unasked else NO_FALLBACK


async def planned(
    request: ExecRequest, policy: ExecPolicy, planner: Planner, nodes: NodePlanning | None
) -> Judged | Refusal:
    """Bind a request where it would run."""
    if policy.host is not ExecHost.NODE or nodes is None:
        plan = planner.plan(request, policy)
        return plan if isinstance(plan, Refusal) else Judged(plan)
    prepared = await nodes.prepare(request, policy)
    return prepared if isinstance(prepared, Refusal) else Judged(prepared.plan, prepared)
