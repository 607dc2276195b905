"""Take from a node no plan for something else than a command, nor one that is longer than ours."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.hosts.node_answers import fault_of
from core.model.command import AgentPart, AgentPartKind, ExecPlan, Unreadable
from core.model.decision import Decision, Evaluation, Reason
from core.model.node import Node, NodeId
from core.model.policy import ExecHost, ExecPolicy
from core.nodes.frames import Prepared
from core.planning.digest import bind
from core.trust.ids import new_id
from tests.support.runs import planned, request

NODE = Node(NodeId("ab" * 32), "web", "127.0.0.1", 0, "uid:0")
POLICY = ExecPolicy(host=ExecHost.NODE)
ASKED = request("true")
LONG = 300_000


def _command(plan: ExecPlan, **changes: object) -> ExecPlan:
    return replace(plan, commands=(replace(plan.commands[0], **changes),))  # type: ignore[arg-type]


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
    "nothing": ("", lambda plan: _command(plan, steered="x" * 200_000)),
}


def _plan() -> ExecPlan:
    plan = planned(ASKED)
    return replace(plan, host=ExecHost.NODE, node=NODE.id, node_name=NODE.name)


def _fault(plan: ExecPlan, why: str = "listed") -> str:
    verdict = Evaluation(Decision.ALLOW, Reason.SECURITY_FULL, why, ())
    answer = Prepared(id=new_id(), plan=bind(plan), verdict=verdict, unasked=False)
    return fault_of(answer, NODE, ASKED, POLICY)


@pytest.mark.parametrize("what", SPOILT)
def test_a_plan_that_is_no_command_or_too_long_is_named(what: str) -> None:
    """Judged as what an agent does itself, it was allowed; the last is the control."""
    fault, spoil = SPOILT[what]
    assert _fault(spoil(_plan())) == fault


def test_a_verdict_that_is_too_long_is_named() -> None:
    """People are shown it."""
    assert (_fault(_plan()), _fault(_plan(), "x" * LONG)) == ("", "length")
