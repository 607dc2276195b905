"""Bind a plan to the Unix user that it runs as."""

from dataclasses import replace

from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.policy import ExecHost, ExecPolicy
from core.planning.digest import digest_of
from core.planning.planner import Planner, Refusal
from tests.support.runs import POLICY, request

OTHER = Planner(base_env={"HOME": "/home/ann", "TMPDIR": "/tmp"}, run_as=lambda _request: "nobody")


def planned(planner: Planner, policy: ExecPolicy = POLICY) -> ExecPlan:
    """Plan a line that names the home."""
    plan = planner.plan(request("echo ~"), policy)
    assert isinstance(plan, ExecPlan)
    return plan


def test_the_user_is_in_the_plan_and_in_its_digest() -> None:
    """Approved for one user is not approved for another."""
    plan = planned(OTHER)

    assert plan.run_as == "nobody"
    assert digest_of(plan) == plan.digest != digest_of(replace(plan, run_as=""))
    assert digest_of(replace(plan, run_as="daemon")) != plan.digest


def test_home_and_names_are_the_users() -> None:
    """And what may be closed to that user is left out."""
    environ = dict(planned(OTHER).env)
    ours = dict(planned(Planner(base_env={"HOME": "/home/ann", "TMPDIR": "/tmp"})).env)

    assert (environ["USER"], environ["LOGNAME"], environ["HOME"]) == (
        *("nobody", "nobody"),
        "/nonexistent",
    )
    assert planned(OTHER).commands[0].argv == ("echo", "/nonexistent")
    assert (ours["HOME"], ours["TMPDIR"]) == ("/home/ann", "/tmp")
    assert "TMPDIR" not in environ


def test_only_the_host_gateway_runs_as_somebody_else() -> None:
    """The sandbox runs as the gateway's user, and its plans say so."""
    sandboxed = planned(OTHER, ExecPolicy(host=ExecHost.SANDBOX))

    assert sandboxed.run_as == ""
    assert planned(Planner()).run_as == ""


def test_a_user_that_is_not_there_is_a_refusal() -> None:
    """Nothing is planned for an unknown user; the message says what to do."""
    refusal = Planner(run_as=lambda _request: "sayso_missing").plan(request("echo x"), POLICY)

    assert isinstance(refusal, Refusal)
    assert refusal.reason is DenialReason.HOST_UNAVAILABLE
    assert "sayso executor user add sayso_missing" in refusal.why
