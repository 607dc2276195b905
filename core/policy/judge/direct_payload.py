"""Decide whether a shell's payload runs without the shell, or whether its later commands ask.

A shell that runs several commands re-checks nothing between them. So a line that is nothing
but ``sh -c PAYLOAD`` is run as the payload itself, command by command, each bound again before it
starts. Inside another wrapper, at a terminal, or under options that change what runs, the shell
stays; there a later command may depend on nothing that could change in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.model.command import UNROUTED, Connector, ExecPlan, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.stdio import Capture
from core.policy.judge.verdict import Context
from core.policy.matching.matchers import GlobMatch, surroundings
from core.programs.program import program_of
from core.programs.safe_bins import safe_bin_problem
from core.programs.unwrap import DEEPEST_NESTING, Unwrapped, unwrap


@dataclass(frozen=True, slots=True)
class Direct:
    """The commands of a line as they are started, and what joins them."""

    commands: tuple[PlannedCommand, ...]
    connectors: tuple[Connector, ...]


def direct(plan: ExecPlan) -> Direct:
    """Return what is started for a plan outside the sandbox: without a shell where there is one."""
    found = Direct(plan.commands, plan.connectors)
    for _ in range(DEEPEST_NESTING):
        within = _within(found.commands[0], plan) if len(found.commands) == 1 else None
        if within is None:
            break
        found = within
    return found


def _within(command: PlannedCommand, plan: ExecPlan) -> Direct | None:
    """Return the payload of a shell that is the whole line, ``None`` where the shell is needed."""
    joins = _joins(command)
    if joins is None or not _is_neutral(command, joins):
        return None
    if plan.stdio.capture is Capture.PTY and joins:  # a terminal is for one command
        return None
    if Connector.PIPE in joins and command.routing != UNROUTED:
        return None  # what a redirection means differs within a pipeline
    commands = tuple(replace(one, routing=command.routing) for one in command.inner)
    return Direct(commands, joins)


def _joins(command: PlannedCommand) -> tuple[Connector, ...] | None:
    """Return what joins the commands of a shell's payload, ``None`` if it is not such a shell."""
    if not command.inner or command.executable is None:
        return None
    found = unwrap(command.argv, command.executable)
    if not isinstance(found, Unwrapped) or len(found.commands) != len(command.inner):
        return None
    return found.connectors


def _is_neutral(command: PlannedCommand, joins: tuple[Connector, ...]) -> bool:
    """Return whether a shell's options change nothing about how its payload runs.

    Nothing in a payload is expanded, so neither ``-u`` nor ``-f`` does; ``-e`` would end a list.
    """
    options = command.argv[1:-1]
    if any(option not in {"--", "-"} and not option.startswith("-") for option in options):
        return False  # the name after `-o`
    return Connector.THEN not in joins or not any("e" in option for option in options)


def waits(plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context) -> dict[int, str]:
    """Return, by the place of an allowed command, what may have changed before a shell starts it.

    An access list decides alone (S4); full security and the sandbox ask nothing.
    """
    if context.acl is not None or context.free is not None:
        return {}
    found = {
        place: _late_problem(_started(plan, command), context)
        for place, command in enumerate(plan.commands)
        if command.inner and segments[place].decision is Decision.ALLOW
    }
    return {place: why for place, why in found.items() if why}


def will_wait(plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context) -> bool:
    """Return whether ``waits`` would still ask about a line once its programs are listed.

    Nothing is promised about such a line: the promise could not be kept.
    """
    return any(
        _late_problem(_started(plan, command), context, listed=True)
        for place, command in enumerate(plan.commands)
        if command.inner and segments[place].decision is Decision.ASK
    )


def _started(plan: ExecPlan, command: PlannedCommand) -> tuple[PlannedCommand, ...]:
    return direct(plan).commands if len(plan.commands) == 1 else (command,)


def judge_waiting(
    segments: tuple[SegmentVerdict, ...], waiting: dict[int, str]
) -> tuple[SegmentVerdict, ...]:
    """Return the verdicts, with a question at each place of ``waits``."""
    return tuple(
        replace(verdict, decision=Decision.ASK, reason=Reason.WRAPPER, rule=waiting[place])
        if place in waiting
        else verdict
        for place, verdict in enumerate(segments)
    )


def _late_problem(
    started: tuple[PlannedCommand, ...], context: Context, *, listed: bool = False
) -> str:
    for command in started:
        late = next((one for one in _late(command) if _depends(one, context, listed=listed)), None)
        if late is not None:
            return (
                f"what {late.argv[0]!r} depends on could change before the shell within "
                f"{command.argv[0]!r} starts it; request its commands without that"
            )
    return ""


def _late(command: PlannedCommand) -> Iterator[PlannedCommand]:
    """Yield the commands that a shell within a command starts after it has waited for others."""
    joins, waits = _joins(command), False
    for place, one in enumerate(command.inner):
        if joins is not None and place > 0:
            waits = waits or joins[place - 1] is not Connector.PIPE
        if waits:
            yield from one.effective
        else:
            yield from _late(one)


def _depends(command: PlannedCommand, context: Context, *, listed: bool) -> bool:
    """Return whether anything but a command's own words decided that it may run.

    ``listed`` has its program count as listed by path.
    """
    file = command.executable
    if file is None or command.operands or command.absent or context.provisions.capabilities:
        return True
    program = program_of(command.argv[0], file)
    safe = program.safe_bin
    if safe in context.policy.safe_bins and safe_bin_problem(safe, command.argv[1:]) is None:
        return False
    rules = context.provisions.rules
    ruling = rules.ruling(command.argv, file, surroundings(command, context.folder))
    by_path = ruling is not None and isinstance(ruling.rule.match, GlobMatch)
    listed = listed or by_path or context.allowlist.match(program.paths) is not None
    return not (program.plain and listed) or rules.narrows(command.argv, file)
