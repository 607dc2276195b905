"""S0: "If host is sandbox, proceed with local sandbox exec"."""

from dataclasses import replace

import pytest

from core.model.command import ExecPlan, PlannedCommand, Unreadable
from core.model.decision import Decision, Reason
from core.model.policy import ExecAsk, ExecHost, ExecPolicy, ExecSecurity, PolicyLayer
from core.policy.judge.evaluate import evaluate
from core.policy.judge.precedence import resolve
from core.policy.matching.argv_template import ArgvTemplate
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import command, listed, plan_of, wrapped
from tests.support.tables import rows

DEFAULT = ExecPolicy()
NO_FILE = PolicyLayer("exec-approvals.json")
REDIRECTION = Unreadable("R4", "a redirection")


def inside(*commands: PlannedCommand, unreadable: Unreadable | None = None) -> ExecPlan:
    """Return a plan for the sandbox."""
    return replace(plan_of(*commands, unreadable=unreadable), host=ExecHost.SANDBOX)


@rows("security", ExecSecurity)
@pytest.mark.parametrize(
    "plan",
    [
        inside(command("mytool", "x", path="/opt/mytool")),
        inside(command("git", "push", "x"), command("cp", "a", "b")),
        inside(wrapped("sh", "-c", "cal; touch 'x y'")),
        inside(command("sh", "-c", "ls > x"), unreadable=REDIRECTION),
    ],
)
def test_everything_runs_there_unasked(plan: ExecPlan, security: ExecSecurity) -> None:
    """Neither security nor lists apply to the sandbox, whatever they are; the reason says so."""
    found = evaluate(plan, replace(DEFAULT, security=security), listed())

    assert (found.decision, found.reason) == (Decision.ALLOW, Reason.SANDBOXED)


@pytest.mark.parametrize("security", ExecSecurity)
def test_a_call_cannot_choose_the_sandbox_to_escape_the_lists(security: ExecSecurity) -> None:
    """If owners chose the gateway, `host: sandbox` of a call moves the command, no more."""
    owners = PolicyLayer("tools.exec", host=ExecHost.GATEWAY, security=security)
    call = PolicyLayer("call", host=ExecHost.SANDBOX)
    plan = inside(command("cp", "a", "b"))
    there = evaluate(plan, resolve((call, owners), NO_FILE), listed())
    here = evaluate(replace(plan, host=ExecHost.GATEWAY), resolve((owners,), NO_FILE), listed())

    assert there == here
    assert (there.decision is Decision.ALLOW) is (security is ExecSecurity.FULL)


@pytest.mark.parametrize(
    "owners", [PolicyLayer("tools.exec"), PolicyLayer("tools.exec", host=ExecHost.SANDBOX)]
)
def test_a_call_may_repeat_what_holds_anyway(owners: PolicyLayer) -> None:
    """The sandbox is where commands run unless set otherwise (S0)."""
    call = PolicyLayer("call", host=ExecHost.SANDBOX)
    found = evaluate(inside(command("cp", "a", "b")), resolve((call, owners), NO_FILE), listed())

    assert found.reason is Reason.SANDBOXED


def test_security_and_lists_hold_outside() -> None:
    """The control: the same on the gateway is denied, or needs an answer."""
    plan = plan_of(command("cp", "a", "b"))

    assert evaluate(plan, DEFAULT, listed()).reason is Reason.SECURITY_DENY
    asked = evaluate(plan, replace(DEFAULT, security=ExecSecurity.ALLOWLIST), listed())
    assert asked.reason is Reason.NOT_LISTED


def test_who_wants_to_be_asked_always_is_asked() -> None:
    """`ask: always` was set explicitly, so it applies in the sandbox as well."""
    found = evaluate(inside(command("ls")), replace(DEFAULT, ask=ExecAsk.ALWAYS), listed())

    assert (found.decision, found.reason) == (Decision.ASK, Reason.ASK_ALWAYS)


@pytest.mark.parametrize(("decide", "decision"), [("deny", Decision.DENY), ("ask", Decision.ASK)])
def test_rules_hold_there_too(decide: str, decision: Decision) -> None:
    """A rule is about a command, wherever it runs; what a rule cannot see into needs an answer."""
    held = provisions(rule(decide, "git", "push", "<ANY>"))
    found = evaluate(inside(command("git", "push", "x")), DEFAULT, listed(), provisions=held)
    shelled = inside(command("sh", "-c", "git push x > y"), unreadable=REDIRECTION)
    other = evaluate(inside(command("ls")), DEFAULT, listed(), provisions=held)

    assert found.decision is decision
    assert evaluate(shelled, DEFAULT, listed(), provisions=held).reason is Reason.UNREADABLE
    assert other.reason is Reason.SANDBOXED


def test_forbidden_variables_and_capabilities_hold_there_too() -> None:
    """A loader's variable is denied anywhere, and so is what the agent was not granted."""
    plan = plan_of(command("ls"), env=[("LD_PRELOAD", "/tmp/x.so")])
    forbidden = evaluate(replace(plan, host=ExecHost.SANDBOX), DEFAULT, listed())
    granted = provisions(capabilities={"tools": ["Read"]})
    beyond = evaluate(inside(command("ls")), DEFAULT, listed(), provisions=granted)

    assert forbidden.reason is Reason.ENVIRONMENT
    assert beyond.reason is Reason.CAPABILITY


def test_an_access_list_decides_alone_there_too() -> None:
    """S4 knows no sandbox: what its list does not contain is denied."""
    acl = [ArgvTemplate.parse(["df", "-h"])]
    policy = replace(DEFAULT, security=ExecSecurity.FULL)

    assert evaluate(inside(command("df")), policy, listed(), acl).decision is Decision.DENY
    assert evaluate(inside(command("df", "-h")), policy, listed(), acl).reason is Reason.ACL
    assert evaluate(inside(command("df", "-h")), DEFAULT, listed(), acl).decision is Decision.DENY
