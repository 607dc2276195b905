"""Judge what a request puts on standard input: to `sh`, `psql` or `xargs` it is code.

A program that is listed was listed for its arguments, so a person is asked about what it reads,
except where it only filters text (a safe bin within its profile) or where a rule names this very
vector. What a filter lets through reaches the commands after its pipe, so they are judged alike.
"""

from collections.abc import Sequence
from dataclasses import replace

from core.model.command import Connector, ExecPlan, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.policy.judge.verdict import Context
from core.policy.matching.matchers import VectorMatch, surroundings
from core.programs.program import program_of
from core.programs.safe_bins import safe_bin_problem
from core.programs.unwrap import Unwrapped, unwrap


def judge_input(
    plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context
) -> tuple[SegmentVerdict, ...]:
    """Return the verdicts, with a question about each command that may take its input as code.

    An access list decides alone (S4); full security or the sandbox asks nothing, unless a rule
    restricts.
    """
    lets_all = context.free is not None and not context.provisions.rules.restrict
    if not plan.stdio.stdin or context.acl is not None or lets_all:
        return segments
    reached = _reached(plan.commands, plan.connectors)
    return tuple(
        _asked(verdict, len(plan.stdio.stdin))
        if reads and verdict.decision is Decision.ALLOW and not _harmless(command, context)
        else verdict
        for command, verdict, reads in zip(plan.commands, segments, reached, strict=True)
    )


def _reached(commands: Sequence[PlannedCommand], connectors: Sequence[Connector]) -> list[bool]:
    """Return for each command whether standard input can come to it, itself or filtered.

    All pipelines share one descriptor: what the first leaves over, the next one reads.
    """
    found: list[bool] = []
    for position, command in enumerate(commands):
        piped = position > 0 and connectors[position - 1] is Connector.PIPE
        given = found[-1] if piped else True
        found.append(given and not command.routing.null_input)
    return found


def _harmless(command: PlannedCommand, context: Context) -> bool:
    return _filters(command, context) or _named(command, context)


def _filters(command: PlannedCommand, context: Context) -> bool:
    """Return whether a command only filters text, itself or through wrappers that pass input on."""
    file = command.executable
    if file is None:
        return False
    if command.inner:
        found = unwrap(command.argv, file)
        passed_on = isinstance(found, Unwrapped) and not found.open_ended
        return passed_on and all(_filters(one, context) for one in command.inner)
    safe = program_of(command.argv[0], file).safe_bin
    if safe is None or safe not in context.policy.safe_bins:
        return False
    return safe_bin_problem(safe, command.argv[1:]) is None


def _named(command: PlannedCommand, context: Context) -> bool:
    """Return whether a rule that the owner wrote allows this very vector."""
    if command.executable is None or command.inner or command.late:
        return False
    at = surroundings(command, context.folder)
    ruling = context.provisions.rules.ruling(command.argv, command.executable, at)
    if ruling is None or ruling.decision is not Decision.ALLOW:
        return False
    return isinstance(ruling.rule.match, VectorMatch) and not ruling.rule.open


def _asked(verdict: SegmentVerdict, size: int) -> SegmentVerdict:
    rule = f"{verdict.resolved or verdict.argv[0]} would read {size:,} bytes of standard input"
    return replace(verdict, decision=Decision.ASK, reason=Reason.STDIN, rule=rule)
