"""Judge what is done by no command of Sayso's: a prompt, a tool, a line, a terminal.

Sayso starts no pinned program then, so no list lets anything pass: where security is not full,
a person is asked. What is forbidden to commands is forbidden here as well.
"""

from dataclasses import replace

from core.model.command import AgentPartKind, ExecPlan
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from core.model.policy import ExecAsk, ExecPolicy, ExecSecurity
from core.policy.judge.environment import judge_requested
from core.policy.judge.reasons import WHY
from core.policy.rules.compiled import Provisions

_ITSELF = "the agent does it itself, as its own Unix user"
_UNASKED = " Asking is off, so it is denied."


def judge_line(evaluation: Evaluation, policy: ExecPolicy) -> Evaluation:
    """Judge a line that the agent's own shell runs: what a list allows is asked about."""
    asked = replace(evaluation, promise=())
    if evaluation.decision is not Decision.ALLOW or evaluation.reason is Reason.SECURITY_FULL:
        return asked
    return _concluded(evaluation.segments, policy, Decision.ASK, Reason.AGENT_TOOL, _ITSELF)


def judge_part(plan: ExecPlan, policy: ExecPolicy, provisions: Provisions) -> Evaluation:
    """Judge a prompt, or a tool that is not a command line."""
    decision, reason, rule = _found(plan, policy, provisions)
    verdict = SegmentVerdict(plan.commands[0].argv, None, decision, reason, rule)
    return _concluded((verdict,), policy, decision, reason, rule)


def _found(
    plan: ExecPlan, policy: ExecPolicy, provisions: Provisions
) -> tuple[Decision, Reason, str]:
    kind = None if plan.part is None else plan.part.kind
    prompt = kind is AgentPartKind.PROMPT
    if policy.security is ExecSecurity.DENY:
        return Decision.DENY, Reason.SECURITY_DENY, "security is deny"
    if provisions.capabilities is not None and not prompt:
        return Decision.DENY, Reason.CAPABILITY, "tools of its own"
    changed = judge_requested(plan)
    if changed is not None and changed[0] is Decision.DENY:
        return Decision.DENY, Reason.ENVIRONMENT, changed[1]
    if policy.ask is ExecAsk.ALWAYS:
        return Decision.ASK, Reason.ASK_ALWAYS, "the policy asks about every command"
    if kind is AgentPartKind.TERMINAL:
        return _terminal(plan)
    return _agent(policy, prompt=prompt)


def _agent(policy: ExecPolicy, *, prompt: bool) -> tuple[Decision, Reason, str]:
    """Judge a prompt to an agent, or what the agent does without a command line."""
    if prompt:
        return Decision.ALLOW, Reason.AGENT_PROMPT, "agents.list[].runtime"
    if policy.security is ExecSecurity.FULL:
        return Decision.ALLOW, Reason.SECURITY_FULL, "security is full"
    return Decision.ASK, Reason.AGENT_TOOL, _ITSELF


def _terminal(plan: ExecPlan) -> tuple[Decision, Reason, str]:
    """Judge a terminal: full security lets commands pass one by one, but no shell of them."""
    if plan.part is not None and plan.part.unasked:
        return Decision.ALLOW, Reason.OPENS_TERMINAL, "execution.terminals.unasked"
    return Decision.ASK, Reason.OPENS_TERMINAL, "a person decides on each terminal"


def _concluded(
    segments: tuple[SegmentVerdict, ...],
    policy: ExecPolicy,
    decision: Decision,
    reason: Reason,
    rule: str,
) -> Evaluation:
    unasked = decision is Decision.ASK and policy.ask is ExecAsk.OFF
    final = Decision.DENY if unasked else decision
    why = WHY[reason].format(rule=rule) + (_UNASKED if unasked else "")
    judged = tuple(replace(one, decision=final) for one in segments)
    return Evaluation(final, reason, why, judged, (), security=policy.security, ask=policy.ask)
