"""Compute what an agent may do now: call, session, configuration and approvals file together."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.idle import Idle, Sorted
from core.approvals.file.last_use import LastUse
from core.approvals.file.usage import Usage
from core.approvals.routing.forwarding import NO_FALLBACK, Fallback
from core.approvals.routing.principals import Listing
from core.errors import ApprovalsFileError
from core.model.approval import AllowlistEntry, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, Evaluation, Promise
from core.model.identity import AgentId
from core.model.policy import (
    AskFallback,
    ExecAsk,
    ExecHost,
    ExecPolicy,
    ExecSecurity,
    PolicyLayer,
)
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import CALL, ignored, resolve
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.compiled import NO_COMPILED, Compiled, Provisions
from core.text.render import redact

_MOST_INDEXED = 1_000
"""Agents whose lists are kept as indexed; that of a further one replaces the oldest."""


@dataclass(frozen=True, slots=True)
class _Index:
    """An allowlist as built from these entries; good until an epoch ms, ``None`` for ever.

    ``idle`` are the words of the entries that are left out.
    """

    entries: tuple[AllowlistEntry, ...]
    allowlist: Allowlist
    until_ms: int | None
    idle: frozenset[str]


def _call(request: ExecRequest) -> PolicyLayer:
    overrides = request.overrides
    return PolicyLayer(
        source=CALL,
        host=overrides.host,
        security=overrides.security,
        ask=overrides.ask,
        node=overrides.node,
        timeout_ms=request.timeout_ms,
    )


@dataclass(slots=True)
class Rulebook:
    """The layers of policy of every agent, and its allowlist as last indexed.

    ``configured`` returns an agent's layers of the configuration, its own first. ``elevated`` is
    ``tools.elevated.enabled``: without it no session has full security, whatever was set before.
    ``compiled`` are the rules, capabilities and skills of the configuration. ``idle`` knows which
    entries no longer count; with ``None``, all do. ``senders`` are the people who may set sessions;
    full security that anybody else set has no effect. ``None`` where no chat sets any.
    """

    configured: Callable[[AgentId], tuple[PolicyLayer, ...]]
    file: ApprovalsFile
    usage: Usage
    home: str
    elevated: bool = False
    compiled: Compiled = NO_COMPILED
    idle: Idle | None = None
    senders: Listing | None = None
    version: int = 0
    _indexed: dict[AgentId, _Index] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ready(self, *agents: AgentId) -> None:
        """Read the file if it changed and index these agents' lists, outside the event loop.

        Many entries take seconds; meanwhile everything else continues. Errors are left to whoever
        asks for the policy.
        """
        if all(map(self._is_ready, agents)):
            return
        async with self._turn:
            for agent in agents:
                if not self._is_ready(agent):
                    with suppress(ApprovalsFileError):
                        await asyncio.to_thread(self.allowlist, agent)

    def _is_ready(self, agent: AgentId) -> bool:
        known = self._indexed.get(agent)
        if known is None or not self.file.is_read():
            return False
        try:
            return known.entries is self.file.entries(agent) and not self._over(known)
        except ApprovalsFileError:
            return True

    async def prepare(self) -> None:
        """Make every list of the file ready, before the first request needs one."""
        with suppress(ApprovalsFileError):
            document = await asyncio.to_thread(self.file.read)
            await self.ready(*document.agents)

    def adopt(self, other: "Rulebook") -> None:
        """Use the configuration of another rulebook of this home from now on.

        The files stay those that are open. ``version`` is incremented, for callers that judge in
        two steps.
        """
        self.configured, self.elevated = other.configured, other.elevated
        self.compiled = other.compiled
        if self.idle is not None and other.idle is not None:
            self.idle.after_ms = other.idle.after_ms
        self._indexed = {}
        self.version += 1

    def policy(self, request: ExecRequest, session: PolicyLayer | None = None) -> ExecPolicy:
        """Resolve the effective policy of a request: call, session, agent, global, then the file.

        ``session`` is what people set for the request's session, if anything.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        if session is not None and session.security is ExecSecurity.FULL and not self.elevated:
            session = replace(session, security=None, skip_approvals=None)
        chosen = () if session is None else (session,)
        layers = (_call(request), *chosen, *self.configured(request.agent))
        return resolve(layers, self.file.layer(request.agent))

    def ignored(self, request: ExecRequest, session: PolicyLayer | None) -> tuple[str, ...]:
        """Return a sentence for each setting of the call itself that has no effect.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        return ignored(_call(request), self.policy(request, session))

    def agent_policy(self, agent: AgentId) -> ExecPolicy:
        """Resolve an agent's policy without a call or a session.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        return resolve(self.configured(agent), self.file.layer(agent))

    def provisions(self, agent: AgentId) -> Provisions:
        """Return an agent's rules, capabilities and, where they count as listed, its skills.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        return self.compiled.of(agent, skilled=self.file.read().auto_allow_skills(agent))

    def judge(
        self,
        plan: ExecPlan,
        policy: ExecPolicy,
        allowlist: Allowlist | None = None,
        acl: tuple[ArgvTemplate, ...] | None = None,
    ) -> Evaluation:
        """Judge a plan by all that its agent is held to; ``allowlist`` replaces the agent's own.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        own = self.allowlist(plan.agent) if allowlist is None else allowlist
        return evaluate(plan, policy, own, acl, self.provisions(plan.agent))

    def fallback(self, plan: ExecPlan, policy: ExecPolicy) -> Fallback:
        """Return what happens to a plan that needs a person where none can be reached (S1).

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        match policy.ask_fallback:
            case AskFallback.FULL:
                return Fallback(ApprovalState.ALLOWED, "askFallback=full: nobody could be asked")
            case AskFallback.ALLOWLIST if self._is_listed(plan, policy):
                note = "askFallback=allowlist: nobody could be asked, all is listed"
                return Fallback(ApprovalState.ALLOWED, note)
        return NO_FALLBACK

    def _is_listed(self, plan: ExecPlan, policy: ExecPolicy) -> bool:
        """Return whether the lists alone allow a plan, apart from full security and the sandbox."""
        listing = replace(policy, security=ExecSecurity.ALLOWLIST, ask=ExecAsk.ON_MISS)
        outside = replace(plan, host=ExecHost.GATEWAY)
        return self.judge(outside, listing).decision is Decision.ALLOW

    def note_uses(self, plan: ExecPlan, evaluation: Evaluation, at_ms: int) -> None:
        """Note which entries let a plan run (S1 "last used"); kept in memory and written later."""
        known = self._indexed.get(plan.agent)
        # A grant of the same words let it run, and must not make the idle entry count again.
        idle = frozenset[str]() if known is None else known.idle
        for verdict in evaluation.segments:
            for entry in (one for one in verdict.entries if one not in idle):
                use = LastUse(at_ms, redact(plan.text).text, verdict.resolved or "")
                self.usage.note(plan.agent, entry, use)

    def allowlist(self, agent: AgentId) -> Allowlist:
        """Return an agent's indexed allowlist, rebuilt only when its entries changed."""
        entries = self.file.entries(agent)
        known = self._indexed.get(agent)
        if known is not None and known.entries is entries and not self._over(known):
            return known.allowlist
        found = self._counted(agent, entries)
        index = Allowlist(found.counted, self.home)
        idle = frozenset(entry.words for entry, _ in found.idle)
        if len(self._indexed) >= _MOST_INDEXED:  # requesters choose the names of agents
            self._indexed.pop(next(iter(self._indexed)), None)
        self._indexed[agent] = _Index(entries, index, found.until_ms, idle)
        return index

    def entries(self, agent: AgentId) -> Sorted:
        """Return an agent's entries, those that count apart from those that are idle.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        return self._counted(agent, self.file.entries(agent))

    @property
    def idle_ms(self) -> int | None:
        """Return after how long without use grants and entries no longer count."""
        return None if self.idle is None else self.idle.after_ms

    def see(self) -> None:
        """Let the entries that are new begin to count now.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        if self.idle is not None:
            self.idle.see(self.file.read().agents)

    async def remember(self, agent: AgentId, promise: Promise) -> None:
        """Store what allow-always promised; what is listed already and idle counts again.

        Raises:
            StateError: it could not be written.
            BadRequest: the entry could never match.
        """
        what = promise.pattern, promise.argv, promise.content
        async with self._turn:
            entry = await asyncio.to_thread(self.file.add, agent, *what)
            if self.idle is not None:
                self.idle.renew(agent, entry)
                self._indexed.pop(agent, None)

    def _counted(self, agent: AgentId, entries: tuple[AllowlistEntry, ...]) -> Sorted:
        if self.idle is None:
            return Sorted(entries)
        self.see()
        return self.idle.sort(agent, entries)

    def _over(self, known: _Index) -> bool:
        until, idle = known.until_ms, self.idle
        return until is not None and idle is not None and idle.now_ms() >= until
