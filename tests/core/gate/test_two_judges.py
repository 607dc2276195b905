from dataclasses import replace

import pytest

from core.gate import two_judges
from core.gate.two_judges import Judged, NodePlanning
from core.model.command import ExecRequest
from core.model.decision import Decision, DenialReason, Evaluation, Promise, Reason
from core.model.identity import ApprovalId
from core.model.node import NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import LiveOutput
from core.planning.planner import Refusal
from tests.support.runs import PLANNER, planned, request

ALLOWS = Evaluation(Decision.ALLOW, Reason.ALLOWLISTED, "listed there", ())
RG, GIT = Promise("/usr/bin/rg"), Promise("/usr/bin/git", ("log", "-1"))


def _promised(text: str, *promise: Promise, here: bool = False) -> tuple[Promise, ...]:
    """Return what is offered for a line if a node returns a plan with such a promise."""
    plan = replace(planned(request(argv=("/bin/echo",))), text=text)
    own = Evaluation(Decision.ASK, Reason.NOT_LISTED, "not listed", (), promise=promise)
    node = None if here else NodePlan(plan, ALLOWS, unasked=False)
    return Judged(plan, node).with_gateways(own).promise


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        ("rg TODO", RG),
        ("/opt/bin/rg TODO | wc -l", RG),
        ("nice rg TODO", RG),
        ("git log -1", GIT),
        ("cd /srv && git log -1", GIT),
    ],
)
def test_what_the_line_names_may_be_allowed_for_good(text: str, promise: Promise) -> None:
    """The program by its name, and its arguments if they would be stored."""
    assert _promised(text, promise) == (promise,)


@pytest.mark.parametrize(
    ("text", "promise"),
    [
        ("ls -l", RG),
        ("ls -l", Promise("/usr/bin/curl")),
        ("git status", GIT),
        ("git log -1 -2", GIT),
        ("git log *", Promise("/usr/bin/git", ("log", "secret"))),
        ("rgx TODO", RG),
        ("rg $(id)", RG),
    ],
)
def test_what_a_node_makes_up_is_never_stored_here(text: str, promise: Promise) -> None:
    """Its plan says what would run there; an entry of this gateway's would apply here as well."""
    assert _promised(text, promise) == ()
    assert _promised(text, RG, promise) == ()
    assert _promised(text, promise, here=True) == (promise,)  # our own planner's result


class Elsewhere(NodePlanning):
    """Another machine, which binds every request to a plan of its own."""

    made = NodePlan(planned(request(argv=("/bin/echo", "there"))), ALLOWS, unasked=False)

    async def prepare(self, request: ExecRequest, policy: ExecPolicy) -> NodePlan | Refusal:
        """Return the same plan for everything but what it cannot find."""
        del policy
        if request.line == "unknown":
            return Refusal(DenialReason.EXECUTABLE_NOT_FOUND, "there is no such program there")
        return self.made

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return nothing: it runs nothing."""

    async def cancel(self, run_id: ApprovalId) -> bool:
        """Return that it runs nothing."""
        return not run_id


@pytest.mark.parametrize(
    ("host", "nodes", "there"),
    [
        (ExecHost.NODE, Elsewhere(), True),
        (ExecHost.GATEWAY, Elsewhere(), False),
        (ExecHost.NODE, None, False),
    ],
)
async def test_a_request_is_bound_where_it_would_run(
    host: ExecHost, nodes: NodePlanning | None, *, there: bool
) -> None:
    """A node reads its own; without any node the gateway binds it, and refuses it later."""
    asked, policy = request("/bin/echo here"), ExecPolicy(host=host)
    found = await two_judges.planned(asked, policy, PLANNER, nodes)

    assert isinstance(found, Judged)
    assert (found.node is Elsewhere.made) is there
    assert found.plan.commands[0].argv[1] == ("there" if there else "here")


async def test_what_a_node_refuses_is_refused() -> None:
    """With its words."""
    policy = ExecPolicy(host=ExecHost.NODE)
    found = await two_judges.planned(request("unknown"), policy, PLANNER, Elsewhere())
    assert isinstance(found, Refusal)
    assert found.why == "there is no such program there"
