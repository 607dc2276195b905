"""Accept a node's answers: only for what was asked, and no longer than ours.

Also define where the runs of nodes are kept.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from core.model.command import ExecPlan, ExecRequest, PlannedCommand
from core.model.decision import DenialReason, Evaluation, SegmentVerdict
from core.model.identity import ApprovalId
from core.model.node import Node, NodeId
from core.model.policy import ExecHost, ExecPolicy
from core.nodes.frames import Ended, NotRun, Prepared
from core.planning.digest import digest_of
from core.planning.planner import Refusal
from core.planning.request_checks import LARGEST_COMMAND
from core.shell.reader import MAX_COMMANDS

_MOST_TEXT, _MOST_TAIL = 200_000, 20_000
_MOST_WORDS, _MOST_FINDINGS = 2_000, 100
_MOST_SAID, _MOST_SHOWN = 2 * LARGEST_COMMAND, 8 * LARGEST_COMMAND
"""Characters that a plan says of a command, and those of its arguments and paths.

Wrapped ones are counted again. Each mebibyte takes a second to mask and to show, in which nothing
else is served.
"""


class NodeRuns(Protocol):
    """The runs of nodes, as the store keeps them. ``left``: an earlier gateway ordered them."""

    async def settle(self, node_id: NodeId, ending: Ended | NotRun) -> bool:
        """Store the ending of a run that no caller waits for; ``False`` if that fails now."""

    async def left_on(self, node_id: NodeId) -> tuple[ApprovalId, ...]:
        """Return the runs that were left on a node and have not ended.

        Raises:
            StoreError: the store cannot be read.
        """

    async def node_of(self, run_id: ApprovalId) -> NodeId | None:
        """Return the node of a run that has not ended, ``None`` if it runs on none.

        Raises:
            StoreError: the store cannot be read.
        """

    async def started(self, run_id: ApprovalId) -> None:
        """Record that a node started a run; return once its session knows, whenever that is."""

    async def running(self, run_id: ApprovalId, seconds: int) -> None:
        """Record that a run has passed the notice threshold, and how long it has been running."""

    async def gone(self, node_id: NodeId) -> None:
        """Record that a node is away."""


def away(why: str) -> Refusal:
    """Return a refusal for a node that cannot be asked now."""
    return Refusal(DenialReason.HOST_UNAVAILABLE, why)


def fault_of(answer: Prepared, node: Node, request: ExecRequest, policy: ExecPolicy) -> str:
    """Return what in a node's plan differs from what was asked, ``""`` if nothing does."""
    plan, text = answer.plan, request.line
    bound = {
        "host": plan.host is ExecHost.NODE,
        "node": plan.node == node.id and plan.node_name == node.name,
        "command": plan.text == text if text is not None else _argv(plan) == request.argv,
        "agent": (plan.agent, plan.session, plan.task)
        == (request.agent, request.session, request.task),
        "environment": set(plan.requested_env) == {name for name, _ in request.env},
        "user": not plan.run_as and plan.part is None,
        "input": plan.stdio == request.stdio and plan.cpu_s == request.cpu_s,
        "timeout": plan.timeout_ms <= policy.timeout_ms,
        "number of commands": 0 < len(plan.commands) <= MAX_COMMANDS,
        "command without a word": all(one.argv for one in _commands(plan)),
        "length": _is_short(plan, answer.verdict),
        "digest": plan.digest == digest_of(plan),
    }
    return ", ".join(name for name, well in bound.items() if not well)


def _commands(plan: ExecPlan) -> Iterator[PlannedCommand]:
    """Return the commands of a plan, wrapped ones too."""
    return (inner for command in plan.commands for inner in command.all_of_it)


def _is_short(plan: ExecPlan, verdict: Evaluation) -> bool:
    """Return whether a plan is no longer than our own could be; people are shown all of it."""
    read = plan.unreadable
    said = [verdict.why, *(one.rule for one in verdict.segments)]
    said += [] if read is None else [read.rule, read.detail]
    words = [plan.cwd.path, *(word for one in verdict.segments for word in _shown(one))]
    for one in _commands(plan):
        said += [one.problem, one.exposed, one.writers, one.steered, one.unsettled, one.replaces]
        words += [*one.argv, *one.bound, *_paths(one)]
    return sum(map(len, said)) <= _MOST_SAID and sum(map(len, words)) <= _MOST_SHOWN


def _shown(verdict: SegmentVerdict) -> tuple[str, ...]:
    return (*verdict.argv, *verdict.entries, verdict.resolved or "")


def _paths(command: PlannedCommand) -> tuple[str, ...]:
    """Return where a command runs, and the program that it starts."""
    program = command.executable
    paths = () if program is None else (program.path, program.realpath)
    return paths if command.cwd is None else (command.cwd.path, *paths)


def _argv(plan: ExecPlan) -> tuple[str, ...]:
    return plan.commands[0].argv if len(plan.commands) == 1 else ()


def bounded(ending: Ended | NotRun) -> Ended | NotRun:
    """Return an ending no longer than our own runner's; a node must not fill the store."""
    if isinstance(ending, NotRun):
        return ending
    result, output = ending.result, ending.result.output
    short = replace(
        result,
        output=replace(output, text=output.text[:_MOST_TEXT], tail=output.tail[-_MOST_TAIL:]),
        streams=None,
        drift=result.drift[:_MOST_WORDS],
        findings=tuple(one[:_MOST_WORDS] for one in result.findings[:_MOST_FINDINGS]),
        token_usage=(),
    )
    return Ended(run_id=ending.run_id, result=short)
