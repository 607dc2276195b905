from dataclasses import replace

import pytest

from core.gate.two_judges import Judged
from core.model.decision import Decision, Evaluation, Promise, Reason
from core.model.node import NodePlan
from tests.support.runs import planned, request

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
