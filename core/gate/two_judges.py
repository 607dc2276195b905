"""Combine a node's verdict and its gateway's on one plan: the stricter holds (S1, decision 29)."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Protocol

from core.approvals.routing.forwarding import NO_FALLBACK, Fallback
from core.model.command import ExecPlan, ExecRequest, Unreadable
from core.model.decision import Evaluation, Promise
from core.model.identity import ApprovalId
from core.model.node import NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import LiveOutput
from core.planning.planner import Planner, Refusal
from core.shell import reader


class NodePlanning(Protocol):
    """The part that has requests read and bound by other machines."""

    async def prepare(self, request: ExecRequest, policy: ExecPolicy) -> NodePlan | Refusal:
        """Have the named node read, bind and judge a request; nothing runs."""

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return since when the node of a run has been away, ``None`` where it is not."""

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a run, now or when its node is back; ``False`` if it runs on none."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A bound plan and what its node says about it; ``node`` is ``None`` for a plan of our own."""

    plan: ExecPlan
    node: NodePlan | None = None

    def with_gateways(self, own: Evaluation) -> Evaluation:
        """Return the stricter verdict.

        Where the node is stricter, allow-always is not offered: what the gateway would
        store does not change what the node's own file says. Nor is it offered where the line does
        not name what would be stored: that would hold on this machine too, on the node's word
        alone.
        """
        if self.node is None:
            return own
        if self.node.verdict.decision <= own.decision:
            named = all(_is_named(one, self.plan.text) for one in own.promise)
            return own if named else replace(own, promise=())
        verdict = self.node.verdict
        why = f"On node {self.plan.node_name}: {verdict.why}"
        return replace(verdict, why=why, promise=())

    def fallback(self, own: Fallback) -> Fallback:
        """Return what happens where nobody can be asked: both must let it run."""
        return own if self.node is None or self.node.unasked else NO_FALLBACK


def _is_named(promise: Promise, text: str) -> bool:
    """Return whether a line, as it is read here, names a program, and its arguments if need be."""
    reading = reader.read(text)
    vectors = () if isinstance(reading, Unreadable) else reading.argvs
    name, argv = PurePosixPath(promise.pattern).name, promise.argv
    return any(
        isinstance(word, str)
        and PurePosixPath(word).name == name
        and (argv is None or vector[at + 1 :] == argv)
        for vector in vectors
        for at, word in enumerate(vector)
    )


async def planned(
    request: ExecRequest, policy: ExecPolicy, planner: Planner, nodes: NodePlanning | None
) -> Judged | Refusal:
    """Bind a request where it would run."""
    if policy.host is not ExecHost.NODE or nodes is None:
        plan = await planner.plan_without_blocking(request, policy)
        return plan if isinstance(plan, Refusal) else Judged(plan)
    prepared = await nodes.prepare(request, policy)
    return prepared if isinstance(prepared, Refusal) else Judged(prepared.plan, prepared)
