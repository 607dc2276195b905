"""Judge a plan: one verdict per segment, the strictest of all for the line (invariant 4).

Pure: argv, pinned paths and configuration decide, never the existence of a file, so that a
verdict cannot be used to probe the disk. The order is written down in ``core.policy``.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from core.model.command import AgentPartKind, ExecPlan, PlannedCommand, Unreadable
from core.model.decision import (
    Decision,
    DenialReason,
    Evaluation,
    Promise,
    Reason,
    SegmentVerdict,
    Tier,
)
from core.model.policy import ExecAsk, ExecHost, ExecPolicy, ExecSecurity
from core.model.stdio import Capture
from core.policy.judge.agent_part import judge_line, judge_part
from core.policy.judge.allow_always import promises_of
from core.policy.judge.direct_payload import judge_waiting, waits, will_wait
from core.policy.judge.environment import judge_requested
from core.policy.judge.exposure import is_exposed, judge_exposed, with_exposure
from core.policy.judge.precedence import CALL
from core.policy.judge.reasons import WHY
from core.policy.judge.segment import judge
from core.policy.judge.stdin import judge_input
from core.policy.judge.terminal import judge_terminal
from core.policy.judge.verdict import Context
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.compiled import NO_PROVISIONS, Provisions

_NOTHING = "The command is empty: there is nothing to run."
_DENIAL = {
    Reason.SECURITY_DENY: DenialReason.SECURITY_DENY,
    Reason.ARGV_NOT_ALLOWED: DenialReason.ARGV_NOT_ALLOWED,
    Reason.EXECUTABLE_NOT_FOUND: DenialReason.EXECUTABLE_NOT_FOUND,
    Reason.ENVIRONMENT: DenialReason.FORBIDDEN_ENVIRONMENT,
    Reason.RULE_DENIED: DenialReason.RULE_DENIED,
    Reason.CAPABILITY: DenialReason.CAPABILITY_DENIED,
}

_UNASKED = "Asking is off, so it is denied."
_SKIPPED = "Approvals are skipped in this session."
_MAY_DENY = (
    "Approvals are skipped in this session, but a rule that denies might concern it, so it is "
    "denied; /elevated on asks instead."
)

# A member looked up on its class costs ten times as much as a module's name; this runs each time.
_ALLOW, _ASK, _DENY = Decision
_SANDBOX = ExecHost.SANDBOX
_LINE = AgentPartKind.COMMAND
_strictness = attrgetter("decision")


class _Finding(NamedTuple):
    decision: Decision
    reason: Reason
    rule: str
    tier: Tier = Tier.ROUTINE


def denial_reason(evaluation: Evaluation) -> DenialReason:
    """Return the word that events and the API give for a denied evaluation."""
    return _DENIAL.get(evaluation.reason, DenialReason.ALLOWLIST_MISS)


def evaluate(
    plan: ExecPlan,
    policy: ExecPolicy,
    allowlist: Allowlist,
    acl: Sequence[ArgvTemplate] | None = None,
    provisions: Provisions = NO_PROVISIONS,
) -> Evaluation:
    """Judge a plan under a policy, an allowlist and, for S4, an ACL that alone decides.

    ``provisions`` are the rules, capabilities and skills of the agent.
    """
    if _skips(policy):
        provisions = replace(provisions, rules=provisions.rules.unasked())
    if plan.part is not None and plan.part.kind is not _LINE:
        return judge_part(plan, policy, provisions)
    found = with_exposure(plan, _evaluate(plan, policy, allowlist, acl, provisions))
    return found if plan.part is None else judge_line(found, policy)


def _evaluate(
    plan: ExecPlan,
    policy: ExecPolicy,
    allowlist: Allowlist,
    acl: Sequence[ArgvTemplate] | None,
    provisions: Provisions,
) -> Evaluation:
    sandboxed = plan.host is _SANDBOX and acl is None and policy.sources.get("host") != CALL
    context = Context(policy, allowlist, acl, provisions, plan.cwd.path, sandboxed)
    whole = _whole_line(plan, context)
    if whole is not None and (whole.decision is _DENY or plan.unreadable):
        return _uniform(plan, whole, policy)
    segments = judged = tuple([judge(command, context) for command in plan.commands])
    if plan.stdio.stdin:
        segments = judge_input(plan, segments, context)
    waiting = waits(plan, segments, context)
    if waiting:
        segments = judge_waiting(segments, waiting)
    if plan.stdio.capture is Capture.PTY:
        segments = judge_terminal(plan, segments, context)
    exposed = is_exposed(plan)
    if exposed:
        segments = judge_exposed(plan, segments, context)
    deciding = segments[0] if len(segments) == 1 else max(segments, key=_strictness)
    finding = _Finding(deciding.decision, deciding.reason, deciding.rule)
    if whole is not None and whole.decision > finding.decision:
        finding = whole
    elif finding.decision is _ALLOW and policy.ask is ExecAsk.ALWAYS and acl is None:
        finding = _Finding(Decision.ASK, Reason.ASK_ALWAYS, "the policy asks about every command")
    asks = finding.decision is _ASK and whole is None and policy.ask is ExecAsk.ON_MISS
    # What is stored lets a vector pass whatever it reads, so nothing is stored about this one; and
    # it would not help an unprotected script, a shell that starts something later, or a terminal.
    asks = asks and not plan.stdio.stdin and not exposed and not waiting
    asks = asks and finding.reason is not Reason.TERMINAL
    asks = asks and not will_wait(plan, segments, context)
    promise = _promise(plan, judged, context) if asks else ()
    return _concluded(finding, segments, policy, promise)


def _whole_line(plan: ExecPlan, context: Context) -> _Finding | None:
    """Judge what concerns the line and not one segment; ``None`` leaves it to the segments."""
    policy, acl = context.policy, context.acl
    if policy.security is ExecSecurity.DENY and not context.sandboxed:
        return _Finding(Decision.DENY, Reason.SECURITY_DENY, "security is deny")
    beyond = _beyond(plan, context.provisions)
    if beyond is not None:
        return beyond
    environment = _environment(plan)
    if environment is not None and environment.decision is _DENY:
        return environment
    if not plan.commands:
        return _Finding(Decision.DENY, Reason.EXECUTABLE_NOT_FOUND, "nothing to run")
    full = context.free is not None and acl is None
    if plan.unreadable is not None and (not full or context.provisions.rules.restrict):
        return _of_shell(plan.commands[0], plan.unreadable, context)
    return None if full else environment


def _of_shell(command: PlannedCommand, unreadable: Unreadable, context: Context) -> _Finding:
    """Judge the shell that an unreadable line needs; no rule can see what it does."""
    shell = judge(command, context)
    rule = unreadable.detail
    if shell.reason is Reason.RULE_DENIED:
        return _Finding(shell.decision, shell.reason, shell.rule, shell.tier)
    if shell.reason is Reason.RULE_ASKED:
        both = f"{shell.rule}; besides, the line cannot be parsed with certainty ({rule})"
        return _Finding(shell.decision, shell.reason, both, shell.tier)
    decision = Decision.ASK if context.acl is None else Decision.DENY
    return _Finding(decision, Reason.UNREADABLE, rule)


def _beyond(plan: ExecPlan, provisions: Provisions) -> _Finding | None:
    """Return a denial of what goes beyond the agent's capabilities (S3)."""
    granted = provisions.capabilities
    problem = None if granted is None else granted.problem(plan)
    return None if problem is None else _Finding(Decision.DENY, Reason.CAPABILITY, problem)


def _environment(plan: ExecPlan) -> _Finding | None:
    found = judge_requested(plan)
    return None if found is None else _Finding(found[0], Reason.ENVIRONMENT, found[1])


def _uniform(plan: ExecPlan, finding: _Finding, policy: ExecPolicy) -> Evaluation:
    final = _final(finding.decision, policy)
    segments = tuple(
        SegmentVerdict(
            command.argv,
            command.executable.realpath if command.executable else None,
            final,
            finding.reason,
            finding.rule,
            finding.tier,
        )
        for command in plan.commands
    )
    return _concluded(finding, segments, policy, ())


def _skips(policy: ExecPolicy) -> bool:
    """Return whether nobody is asked about anything; a call that asks for a question gets it."""
    return policy.skip_approvals and policy.ask is ExecAsk.OFF


def _final(decision: Decision, policy: ExecPolicy) -> Decision:
    return _DENY if decision is _ASK and policy.ask is ExecAsk.OFF else decision


def _note(finding: _Finding, final: Decision, policy: ExecPolicy) -> str:
    """Return what is said about a question that is not asked; nothing where one is."""
    if finding.decision is _ASK and final is _DENY:
        full = policy.security is ExecSecurity.FULL
        return f" {_MAY_DENY if full and _skips(policy) else _UNASKED}"
    return f" {_SKIPPED}" if final is _ALLOW and _skips(policy) else ""


def _concluded(
    finding: _Finding,
    segments: tuple[SegmentVerdict, ...],
    policy: ExecPolicy,
    promise: tuple[Promise, ...],
) -> Evaluation:
    final = _final(finding.decision, policy)
    why = WHY[finding.reason].format(rule=finding.rule) if segments else _NOTHING
    why += _note(finding, final, policy)
    if final is not finding.decision:
        segments = tuple(replace(one, decision=_final(one.decision, policy)) for one in segments)
    return Evaluation(
        final, finding.reason, why, segments, promise, security=policy.security, ask=policy.ask
    )


def _promise(
    plan: ExecPlan, judged: tuple[SegmentVerdict, ...], context: Context
) -> tuple[Promise, ...]:
    """Return what would let this very line pass from now on, if it were stored."""
    promises: list[Promise] = []
    for command, verdict in zip(plan.commands, judged, strict=True):
        if verdict.decision is _ALLOW:
            continue
        found = promises_of(command, verdict.reason, context, open_ended=bool(command.late))
        if found is None:
            return ()
        promises.extend(found)
    return tuple(dict.fromkeys(promises))
