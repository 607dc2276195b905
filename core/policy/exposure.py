"""Ask about a script that other users could replace by name before its interpreter opens it."""

from dataclasses import replace

from core.model.command import ExecPlan, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.policy.verdicts import Context


def is_exposed(plan: ExecPlan) -> bool:
    """Tell whether a command of a plan, or one that a wrapper starts, lies open to other users."""
    return any(_folder(command) for command in plan.commands)


def judge_exposed(
    plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context
) -> tuple[SegmentVerdict, ...]:
    """Return the verdicts, with a question about each command whose script lies open.

    An access list decides alone (S4); full security and the sandbox ask nothing.
    """
    if context.acl is not None or context.free is not None:
        return segments
    return tuple(
        _asked(verdict, folder)
        if (folder := _folder(command)) and verdict.decision is Decision.ALLOW
        else verdict
        for command, verdict in zip(plan.commands, segments, strict=True)
    )


def _folder(command: PlannedCommand) -> str:
    return command.exposed or next(filter(None, map(_folder, command.inner)), "")


def _asked(verdict: SegmentVerdict, folder: str) -> SegmentVerdict:
    rule = f"other users may write to {folder}"
    return replace(verdict, decision=Decision.ASK, reason=Reason.EXPOSED, rule=rule)
