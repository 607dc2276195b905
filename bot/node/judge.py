"""Read, bind and judge a request by this node's own exec-approvals.json (S1 "Where it applies").

The gateway judges the same plan by its own policy; the stricter of both holds. Nothing that the
gateway sends can make this judgement more permissive: what the file does not set is S0's default.
"""

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.usage import Usage
from core.errors import ApprovalsFileError, StateError
from core.gate.effective_policy import Rulebook
from core.model.approval import ApprovalState
from core.model.command import (
    ExecPlan,
    ExecRequest,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Unreadable,
)
from core.model.decision import Decision, DenialReason, Evaluation, Reason, SegmentVerdict
from core.model.identity import NAME_WORDS, AgentId, is_name
from core.model.policy import (
    AskFallback,
    ExecAsk,
    ExecHost,
    ExecPolicy,
    ExecSecurity,
    PolicyLayer,
)
from core.model.stdio import Capture
from core.nodes.frames import Prepare, Prepared, Unprepared
from core.nodes.prepared import PreparedPlans
from core.planning.command import SHELL
from core.planning.digest import bind
from core.planning.planner import Planner, Refusal
from core.policy.judge.reasons import WHY
from core.policy.rules.compiled import Compiled
from core.policy.rules.skills import skills_of

APPROVALS = "exec-approvals.json"
_SOURCE = "this node"
_NO_PART = "a node runs commands, and nothing that an agent does itself"
_NO_STREAMS = "a node returns one combined output, without a terminal"
_NO_NAME = f"an agent's name has {NAME_WORDS}"
_NO_CONTENT = "0" * 64
_UNSEEN = "the node denies it, and does not say what it would run"
_WHY = WHY[Reason.SECURITY_DENY].format(rule="security is deny")
_ALL_DENIED = Evaluation(Decision.DENY, Reason.SECURITY_DENY, _WHY, ())


@dataclass(frozen=True, slots=True)
class Judge:
    """The judge of one node."""

    node_id: str
    rulebook: Rulebook
    planner: Planner
    plans: PreparedPlans

    @classmethod
    def of(cls, home: Path, node_id: str, planner: Planner) -> "Judge":
        """Return the judge that uses the approvals file of a home.

        Raises:
            StateError: the home cannot store which plans were made.
        """
        file = ApprovalsFile(home / APPROVALS)

        def configured(agent: AgentId) -> tuple[PolicyLayer, ...]:
            return (_base(file.layer(agent), node_id),)

        own = os.path.expanduser("~")  # noqa: PTH111 - patterns are text
        return cls(
            node_id, Rulebook(configured, file, Usage(file), own), planner, PreparedPlans.of(home)
        )

    def learn(self, names: Iterable[str]) -> None:
        """Look up the programs of skills that the gateway names (S1 "Auto-allow skill CLIs").

        They count only for agents for which the local file sets ``autoAllowSkills``.
        """

        def find(name: str) -> PinnedFile | str:
            found = self.planner.search.find(name, "/")
            return found if isinstance(found, PinnedFile) else found.why

        self.rulebook.compiled = Compiled(skills=skills_of(names, find))

    async def prepare(self, asked: Prepare) -> Prepared | Unprepared:
        """Return the plan and this node's verdict, or why there is no plan.

        The plan of what is denied says nothing of this machine.
        """
        request = asked.request
        fault = _fault(request)
        if fault is not None:
            return Unprepared(id=asked.id, reason=DenialReason.BAD_REQUEST, why=fault)
        try:
            await self.rulebook.ready(request.agent)
            policy = self.rulebook.agent_policy(request.agent)
            if policy.security is ExecSecurity.DENY:  # not even a look at what the words name
                return _denied(asked, self.node_id, _ALL_DENIED)
            return await self._judged(asked, policy)
        except ApprovalsFileError as error:
            why = f"its approvals file cannot be used: {error}"
            return Unprepared(id=asked.id, reason=DenialReason.SECURITY_DENY, why=why[:2_000])
        except StateError as error:
            why = f"it cannot keep what it made: {error}"
            return Unprepared(id=asked.id, reason=DenialReason.HOST_UNAVAILABLE, why=why[:2_000])

    async def _judged(self, asked: Prepare, policy: ExecPolicy) -> Prepared | Unprepared:
        policy = replace(policy, timeout_ms=min(policy.timeout_ms, asked.timeout_ms))
        plan = await self.planner.plan_without_blocking(asked.request, policy)
        if isinstance(plan, Refusal):
            return Unprepared(id=asked.id, reason=plan.reason, why=plan.why[:2_000])
        plan = bind(replace(plan, node_name=asked.name))
        verdict = self.rulebook.judge(plan, policy)
        if verdict.decision is Decision.DENY:
            return _denied(asked, self.node_id, verdict)
        unasked = self._unasked(plan, policy, verdict)
        self.plans.note(plan.digest)
        return Prepared(id=asked.id, plan=plan, verdict=verdict, unasked=unasked)

    def verdict(self, plan: ExecPlan) -> tuple[Evaluation, bool]:
        """Return this node's current verdict on a plan, and whether it may run with nobody asked.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe, so nothing may run.
        """
        policy = self.rulebook.agent_policy(plan.agent)
        verdict = self.rulebook.judge(plan, policy)
        return verdict, self._unasked(plan, policy, verdict)

    def _unasked(self, plan: ExecPlan, policy: ExecPolicy, verdict: Evaluation) -> bool:
        if verdict.decision is Decision.ALLOW:
            return True
        return self.rulebook.fallback(plan, policy).state is ApprovalState.ALLOWED


def _fault(request: ExecRequest) -> str | None:
    """Return what a gateway never asks for, as a node could not answer it; ``None``: nothing."""
    if request.part is not None:  # judged otherwise: a prompt needs no list
        return _NO_PART
    if request.stdio.capture is not Capture.COMBINED:
        return _NO_STREAMS
    return None if is_name(request.agent) else _NO_NAME


def _denied(asked: Prepare, node_id: str, verdict: Evaluation) -> Prepared:
    """Return a denial with a plan that says what the request says, and nothing of this machine.

    A plan that could run holds names of files, their hashes, and settings of repositories.
    """
    request = asked.request
    argv = request.argv or (SHELL, "-c", request.line or "")
    plan = ExecPlan(
        text=shlex.join(argv) if request.line is None else request.line,
        commands=(PlannedCommand(argv, PinnedFile(argv[0], argv[0], 0, 0, 0, _NO_CONTENT)),),
        connectors=(),
        unreadable=Unreadable("R0", _UNSEEN),
        cwd=PinnedDirectory(request.cwd, 0, 0),
        env=(),
        requested_env=tuple(name for name, _ in request.env),
        host=ExecHost.NODE,
        node=node_id,
        agent=request.agent,
        session=request.session,
        timeout_ms=asked.timeout_ms,
        digest="",
        stdio=request.stdio,
        cpu_s=request.cpu_s,
        task=request.task,
        node_name=asked.name,
    )
    denied = SegmentVerdict(argv, None, Decision.DENY, verdict.reason, "the node denies it")
    bare = replace(verdict, why=verdict.why[:2_000], segments=(denied,), promise=())
    return Prepared(id=asked.id, plan=bind(plan), verdict=bare, unasked=False)


def _base(file: PolicyLayer, node_id: str) -> PolicyLayer:
    """Return the defaults for what the file does not set; what it sets, it alone decides."""
    return PolicyLayer(
        source=_SOURCE,
        host=ExecHost.NODE,
        node=node_id,
        security=ExecSecurity.DENY if file.security is None else ExecSecurity.FULL,
        ask=ExecAsk.ON_MISS if file.ask is None else ExecAsk.OFF,
        ask_fallback=AskFallback.DENY if file.ask_fallback is None else AskFallback.FULL,
    )
