"""Take from a node no plan for something else than a command, nor one that is longer than ours."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import pytest

from bot.intake.results.questions import ApprovalAnswer
from channels.cards.build import build_prompt
from core.gate.journal import journal_records
from core.hosts.node_answers import fault_of
from core.model.approval import Approval
from core.model.command import (
    AgentPart,
    AgentPartKind,
    ExecPlan,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Unreadable,
)
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from core.model.node import Node, NodeId
from core.model.policy import ExecAsk, ExecHost, ExecPolicy, ExecSecurity
from core.nodes.frames import Prepared
from core.planning.digest import bind
from core.policy.judge.evaluate import evaluate
from core.trust.ids import new_id
from tests.support.plans import listed
from tests.support.runs import new_run, planned, request
from tests.support.tables import rows

NODE = Node(NodeId("ab" * 32), "web", "127.0.0.1", 0, "uid:0")
POLICY = ExecPolicy(host=ExecHost.NODE)
ASKS = replace(POLICY, security=ExecSecurity.ALLOWLIST, ask=ExecAsk.ON_MISS)
ASKED = request("true")
LONG = 300_000
HUGE = "/" + "x" * 4 * LONG


def _command(plan: ExecPlan, **changes: object) -> ExecPlan:
    return replace(plan, commands=(replace(plan.commands[0], **changes),))  # type: ignore[arg-type]


def _program(**changes: str) -> PinnedFile:
    found = planned(ASKED).commands[0].executable
    assert found is not None
    return replace(found, **changes)  # type: ignore[arg-type]


def _part(kind: AgentPartKind) -> Callable[[ExecPlan], ExecPlan]:
    return lambda plan: replace(plan, part=AgentPart(kind, unasked=True))


SPOILT: dict[str, tuple[str, Callable[[ExecPlan], ExecPlan]]] = {
    "a prompt, which needs no list": ("user", _part(AgentPartKind.PROMPT)),
    "a terminal that may be opened": ("user", _part(AgentPartKind.TERMINAL)),
    "a tool": ("user", _part(AgentPartKind.TOOL)),
    "another user": ("user", lambda plan: replace(plan, run_as="root")),
    "why it is unreadable": (
        "length",
        lambda plan: replace(plan, unreadable=Unreadable("R1", "x" * LONG)),
    ),
    "what steers it": ("length", lambda plan: _command(plan, steered="x" * LONG)),
    "one argument": ("length", lambda plan: _command(plan, argv=("true", "x" * 4 * LONG))),
    "a wrapped command": (
        "length",
        lambda plan: _command(plan, inner=_command(plan, problem="x" * LONG).commands),
    ),
    "the folder": ("length", lambda plan: replace(plan, cwd=replace(plan.cwd, path=HUGE))),
    "a command's folder": (
        "length",
        lambda plan: _command(plan, cwd=replace(plan.cwd, path=HUGE)),
    ),
    "the program": ("length", lambda plan: _command(plan, executable=_program(path=HUGE))),
    "where it leads": ("length", lambda plan: _command(plan, executable=_program(realpath=HUGE))),
    "how many commands": (
        "number of commands",
        lambda plan: replace(plan, commands=plan.commands * 129),
    ),
    "no command": ("number of commands", lambda plan: replace(plan, commands=())),
    "a command without a word": (
        "command without a word",
        lambda plan: _command(plan, argv=()),
    ),
    "a wrapped command without a word": (
        "command without a word",
        lambda plan: _command(plan, inner=_command(plan, argv=()).commands),
    ),
    "nothing": ("", lambda plan: _command(plan, steered="x" * 200_000)),
}


def _plan() -> ExecPlan:
    plan = planned(ASKED)
    return replace(plan, host=ExecHost.NODE, node=NODE.id, node_name=NODE.name)


def _fault(plan: ExecPlan, why: str = "listed") -> str:
    return _faults(plan, Evaluation(Decision.ALLOW, Reason.SECURITY_FULL, why, ()))


def _faults(plan: ExecPlan, verdict: Evaluation) -> str:
    answer = Prepared(id=new_id(), plan=bind(plan), verdict=verdict, unasked=False)
    return fault_of(answer, NODE, ASKED, POLICY)


@rows("what", SPOILT)
def test_a_plan_that_is_no_command_or_too_long_is_named(what: str) -> None:
    """Judged as what an agent does itself, it was allowed; the last is the control.

    Without a word, what judges or shows a plan fails over it, each time that a list is shown.
    """
    fault, spoil = SPOILT[what]
    assert _fault(spoil(_plan())) == fault


def test_a_verdict_that_is_too_long_is_named() -> None:
    """People are shown it."""
    assert (_fault(_plan()), _fault(_plan(), "x" * LONG)) == ("", "length")


def _verdict(**changes: object) -> Evaluation:
    one = SegmentVerdict(("true",), "/bin/true", Decision.ASK, Reason.CARRIER, "not listed")
    changed = replace(one, **changes)  # type: ignore[arg-type]
    return Evaluation(Decision.ASK, Reason.CARRIER, "not listed", (changed,))


@pytest.mark.parametrize("name", ["argv", "resolved", "rule", "entries"])
def test_what_a_verdict_says_of_a_command_is_bounded(name: str) -> None:
    """Where the node is stricter than the gateway, its verdict is the one that people see."""
    value = (HUGE,) if name in {"argv", "entries"} else HUGE
    faults = [_faults(_plan(), _verdict(**changes)) for changes in ({}, {name: value})]
    assert faults == ["", "length"]


def _grown(of: object) -> Iterator[tuple[str, object]]:
    """Yield a plan with each of its texts, in turn, much longer than it could be."""
    for one in fields(of):  # type: ignore[arg-type]
        value = getattr(of, one.name)
        if one.name in {"executable", "cwd"} and value is not None:
            for name, grown in _grown(value):
                yield f"{one.name}.{name}", replace(of, **{one.name: grown})  # type: ignore[type-var]
        elif one.type in ("str", str, "tuple[str, ...]", tuple[str, ...]):
            grown = (HUGE,) if isinstance(value, tuple) else HUGE
            yield one.name, replace(of, **{one.name: grown})  # type: ignore[type-var]


def _people_see(plan: ExecPlan) -> int:
    """Return how many characters of a plan the journal, a prompt and a list show."""
    plan = bind(plan)
    verdict = evaluate(plan, ASKS, listed())
    asked = Approval(new_run(), plan, verdict, ASKED.requester, None, 0, 1)
    recorded = journal_records.decided(new_run(), ASKED.requester, plan, verdict)
    shown = (build_prompt(asked), ApprovalAnswer.of(asked), recorded)
    return sum(len(repr(one)) for one in shown)


def test_nothing_that_people_see_of_a_node_s_plan_is_without_bound() -> None:
    """Whatever field it is, and one that is added later: it is refused, or nobody sees it."""
    small = _people_see(_plan())
    command = replace(_plan().commands[0], cwd=PinnedDirectory("/srv", 1, 2))
    plans = [(f"commands.{name}", _command_of(grown)) for name, grown in _grown(command)]
    plans += [(name, grown) for name, grown in _grown(_plan()) if isinstance(grown, ExecPlan)]
    seen = {name for name, plan in plans if not _fault(plan) and _people_see(plan) > 10 * small}
    assert len(plans) > 20
    assert seen == set()


def _command_of(grown: object) -> ExecPlan:
    assert isinstance(grown, PlannedCommand)
    return replace(_plan(), commands=(grown,))
