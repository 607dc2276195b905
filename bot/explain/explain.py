"""Judge one command as the gate does, in the gateway or outside it; nothing runs, no grant is used.

The only way to explain: ``policy.explain`` and ``sayso policy explain`` both end here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot.explain.approval_terms import Asks, Terms, asks_of
from bot.explain.rule_trace import RuleTrace, traces_of
from bot.explain.session_context import SessionContext
from core.approvals.file.idle import Sorted, describe_idle
from core.gate.apply_grants import lifted, rule_of
from core.gate.effective_policy import Rulebook
from core.gate.two_judges import Judged, NodePlanning, planned
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, ExecRequest, PlannedCommand
from core.model.decision import Decision, DenialReason, Evaluation
from core.model.identity import AgentId, Requester
from core.model.node import NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.planning.planner import Planner, Refusal
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.matchers import surroundings
from core.store.approvals.grants import Grant

_NO_NODES = Refusal(
    DenialReason.HOST_UNAVAILABLE, "this gateway has no nodes: set nodes.enabled to true"
)
_UNNAMED = "granted for a while"


def _nothing_withheld(_plan: ExecPlan, _requester: Requester) -> Refusal | None:
    return None


@dataclass(frozen=True, slots=True)
class Explained:
    """A verdict with the policy that gave it; ``verdict`` is a refusal if no plan exists.

    ``idle`` lists the entries that would cover one of its programs, were they not idle. For a node,
    ``node`` is its verdict, ``gateway`` our own.
    """

    policy: ExecPolicy
    verdict: Evaluation | Refusal
    agent: AgentId
    traces: tuple[RuleTrace, ...] = ()
    idle: tuple[str, ...] = ()
    asks: Asks | None = None
    unread: str = ""
    plan: ExecPlan | None = None
    gateway: Evaluation | None = None
    node: NodePlan | None = None

    @property
    def commands(self) -> tuple[PlannedCommand, ...]:
        """Return the commands that were judged."""
        return () if self.plan is None else self.plan.commands


@dataclass(frozen=True, slots=True)
class Explaining:
    """Everything that a command is judged by.

    ``names``: the reader may know which grant counted and who gave it. ``withheld`` is what the
    gate refuses to some requesters (``Execution.withheld``); nothing is withheld from the gateway's
    own user.
    """

    rulebook: Rulebook
    planner: Planner
    terms: Terms
    names: bool = True
    withheld: Callable[[ExecPlan, Requester], Refusal | None] = _nothing_withheld

    def explain(self, request: ExecRequest, context: SessionContext) -> Explained:
        """Judge a request; ``context`` is what applies to its session.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe.
        """
        policy = self.rulebook.policy(request, context.layer)
        plan = self.planner.plan(request, policy)
        found = plan if isinstance(plan, Refusal) else Judged(plan)
        return self._explained(request, context, policy, found)

    async def explain_anywhere(
        self, request: ExecRequest, context: SessionContext, nodes: NodePlanning | None
    ) -> Explained:
        """Judge a request; one for a node is also read, bound and judged there; nothing runs.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe.
        """
        policy = self.rulebook.policy(request, context.layer)
        found: Judged | Refusal = _NO_NODES
        if policy.host is not ExecHost.NODE or nodes is not None:
            found = await planned(request, policy, self.planner, nodes)
        return self._explained(request, context, policy, found)

    def _explained(
        self,
        request: ExecRequest,
        context: SessionContext,
        policy: ExecPolicy,
        found: Judged | Refusal,
    ) -> Explained:
        book, who, unread = self.rulebook, request.agent, context.unread
        if isinstance(found, Judged):
            found = self.withheld(found.plan, request.requester) or found
        if isinstance(found, Refusal):
            return Explained(policy, found, who, unread=unread)
        plan = found.plan
        own = self._verdict(plan, policy, context.grants)
        verdict = found.with_gateways(own)
        traces = traces_of(plan, book.provisions(who).rules, policy.trust)
        idle = idle_words(plan, book.entries(who))
        asks = asks_of(self.terms, who, request.session, verdict)
        gateway = None if found.node is None else own
        return Explained(
            policy, verdict, who, traces, idle, asks, unread, plan, gateway, found.node
        )

    def _verdict(self, plan: ExecPlan, policy: ExecPolicy, grants: Sequence[Grant]) -> Evaluation:
        book = self.rulebook
        verdict = book.judge(plan, policy)
        if verdict.decision is not Decision.ASK or not grants:
            return verdict

        found = lifted(book, plan, policy, verdict, grants)
        if found is None:
            return verdict
        return found[0] if self.names else _unnamed(*found)


def _unnamed(verdict: Evaluation, needed: Sequence[Grant]) -> Evaluation:
    """Return a verdict that says that people granted it, but not who and by which grant."""
    rule = "; ".join(rule_of(grant) for grant in needed)
    segments = tuple(
        replace(one, rule=_UNNAMED) if one.rule == rule else one for one in verdict.segments
    )
    return replace(verdict, why=verdict.why.replace(rule, _UNNAMED), segments=segments)


def idle_words(plan: ExecPlan, entries: Sorted) -> tuple[str, ...]:
    """Return the entries that would cover a command of a plan, were they not idle, as text."""
    commands = [one for command in plan.commands for one in (command, *command.effective)]
    return tuple(
        describe_idle(entry, at)
        for entry, at in entries.idle
        if any(_covers(entry, one, plan.cwd.path) for one in commands)
    )


def _covers(entry: AllowlistEntry, command: PlannedCommand, folder: str) -> bool:
    file = command.executable
    if file is None:
        return False
    listed, paths = Allowlist([entry], str(Path.home())), (file.path, file.realpath)
    at = surroundings(command, folder)
    found = listed.match(paths) or listed.match_vector(paths, command.argv[1:], at)
    return found is not None
