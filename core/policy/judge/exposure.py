"""Ask about what the line does not show: a replaceable script, a file that would be replaced."""

from dataclasses import replace

from core.model.command import ExecPlan, PlannedCommand
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from core.model.policy import Trust
from core.policy.judge.verdict import Context


def is_exposed(plan: ExecPlan) -> bool:
    """Return whether more than what is bound decides about a command of a plan or wrapper."""
    return any(_hidden(command) for command in plan.commands)


def judge_exposed(
    plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context
) -> tuple[SegmentVerdict, ...]:
    """Return the verdicts, with a question about each command that is more than its line.

    Classical trust lets a listed git do anything, so its repository may too. An access
    list decides alone (S4); full security and the sandbox ask nothing.
    """
    if context.acl is not None or context.free is not None:
        return segments
    return tuple(
        _asked(verdict, command, context.policy.trust)
        if verdict.decision is Decision.ALLOW
        else verdict
        for command, verdict in zip(plan.commands, segments, strict=True)
    )


def with_exposure(plan: ExecPlan, found: Evaluation) -> Evaluation:
    """Return a question that also says where commands may read code that others can change."""
    if found.decision is not Decision.ASK or found.reason is Reason.EXPOSED:
        return found
    all_of_them = (one for command in plan.commands for one in command.all_of_it if one.exposed)
    said = dict.fromkeys(
        f"{one.argv[0]} may read code from {one.exposed}, which others can change: {_who(one)}."
        for one in all_of_them
    )
    return replace(found, why=" ".join((found.why, *said))) if said else found


def _who(command: PlannedCommand) -> str:
    return command.writers or "other users"


def _hidden(command: PlannedCommand) -> bool:
    return any(
        one.exposed or one.steered or one.unsettled or one.replaces for one in command.all_of_it
    )


def _asked(verdict: SegmentVerdict, command: PlannedCommand, trust: Trust) -> SegmentVerdict:
    exposed = next((one for one in command.all_of_it if one.exposed), None)
    clauses = (one.steered or one.unsettled for one in command.all_of_it)
    steered = next(filter(None, clauses), "")
    if exposed is not None:
        rule = f"{_who(exposed)} may write to {exposed.exposed}"
        return replace(verdict, decision=Decision.ASK, reason=Reason.EXPOSED, rule=rule)
    if steered and trust is Trust.STRICT:
        return replace(verdict, decision=Decision.ASK, reason=Reason.STEERED, rule=steered)
    replaces = next((one.replaces for one in command.all_of_it if one.replaces), "")
    if replaces and trust is Trust.STRICT:
        return replace(verdict, decision=Decision.ASK, reason=Reason.REPLACES, rule=replaces)
    return verdict
