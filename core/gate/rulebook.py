"""Say what an agent may do now: call, session, configuration and approvals file together."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.approvals.allowlist_file import ApprovalsFile
from core.approvals.rendering import redact
from core.approvals.usage import LastUse, UsageFile
from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Evaluation
from core.model.identity import AgentId
from core.model.policy import ExecPolicy, ExecSecurity, PolicyLayer
from core.policy.allowlist import Allowlist
from core.policy.evaluate import evaluate
from core.policy.provisions import NO_COMPILED, Compiled, Provisions
from core.policy.resolve import resolve


@dataclass(slots=True)
class Rulebook:
    """The layers of policy of every agent, and its allowlist as indexed last.

    ``configured`` returns an agent's layers of the configuration, its own first. ``elevated`` is
    ``tools.elevated.enabled``: without it no session has full security, whatever was set before.
    ``compiled`` are the rules, capabilities and skills of the configuration.
    """

    configured: Callable[[AgentId], tuple[PolicyLayer, ...]]
    file: ApprovalsFile
    usage: UsageFile
    home: str
    elevated: bool = False
    compiled: Compiled = NO_COMPILED
    _indexed: dict[AgentId, tuple[tuple[AllowlistEntry, ...], Allowlist]] = field(
        default_factory=dict
    )

    def policy(self, request: ExecRequest, session: PolicyLayer | None = None) -> ExecPolicy:
        """Resolve the effective policy of a request: call, session, agent, global, then the file.

        ``session`` is what people set for the request's session, if anything.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        wish = request.overrides
        call = PolicyLayer(
            source="call",
            host=wish.host,
            security=wish.security,
            ask=wish.ask,
            node=wish.node,
            timeout_ms=request.timeout_ms,
        )
        if session is not None and session.security is ExecSecurity.FULL and not self.elevated:
            session = replace(session, security=None)
        chosen = () if session is None else (session,)
        layers = (call, *chosen, *self.configured(request.agent))
        return resolve(layers, self.file.layer(request.agent))

    def provisions(self, agent: AgentId) -> Provisions:
        """Return an agent's rules, capabilities and, where they count as listed, its skills.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        return self.compiled.of(agent, skilled=self.file.read().auto_allow_skills(agent))

    def judge(
        self, plan: ExecPlan, policy: ExecPolicy, allowlist: Allowlist | None = None
    ) -> Evaluation:
        """Judge a plan by all that is known of its agent; ``allowlist`` replaces the agent's own.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        own = self.allowlist(plan.agent) if allowlist is None else allowlist
        return evaluate(plan, policy, own, provisions=self.provisions(plan.agent))

    def note_uses(self, plan: ExecPlan, evaluation: Evaluation, at_ms: int) -> None:
        """Note which entries let a plan run (S1 "last used"); in memory, written by and by."""
        for verdict in evaluation.segments:
            for entry in verdict.entries:
                use = LastUse(at_ms, redact(plan.text).text, verdict.resolved or "")
                self.usage.note(plan.agent, entry, use)

    def allowlist(self, agent: AgentId) -> Allowlist:
        """Return an agent's indexed allowlist, built anew only when its entries changed."""
        entries = self.file.entries(agent)
        known = self._indexed.get(agent)
        if known is not None and known[0] is entries:
            return known[1]
        index = Allowlist(entries, self.home)
        self._indexed[agent] = (entries, index)
        return index
