"""Ask about a script that other users could replace, whatever lists it."""

from dataclasses import replace

import pytest

from core.model.decision import Decision, Reason
from core.model.policy import ExecSecurity, Trust
from core.policy.judge.evaluate import evaluate
from core.policy.matching.argv_template import ArgvTemplate
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import LISTED, command, listed, plan_of, wrapped

TOOL = "/opt/app/tool"
OPEN = replace(command(TOOL), exposed="/opt/app")


@pytest.mark.parametrize("trust", Trust)
def test_an_exposed_script_asks_and_promises_nothing(trust: Trust) -> None:
    """An entry, or a rule that allows, does not vouch for what others may put there."""
    policy = replace(LISTED, trust=trust)
    before = evaluate(plan_of(command(TOOL)), policy, listed(TOOL))
    found = evaluate(plan_of(OPEN), policy, listed(TOOL))
    ruled = evaluate(
        plan_of(OPEN), policy, listed(), provisions=provisions(rule("allow", glob=TOOL))
    )

    assert Decision.ALLOW is before.decision
    for one in (found, ruled):
        assert (Decision.ASK, Reason.EXPOSED, ()) == (one.decision, one.reason, one.promise)
    assert "other users may write to /opt/app" in found.why


@pytest.mark.parametrize("trust", Trust)
def test_a_steered_command_asks_under_strict_trust(trust: Trust) -> None:
    """What the repository sets is shown and asked; a fully trusted git needs no check."""
    steered = replace(command("/usr/bin/git", "diff"), steered="`/r/.git/config` sets `a.b = c`")
    around = wrapped("timeout", "5", "git", "diff")
    inner = (replace(around.inner[0], steered=steered.steered),)
    plan = plan_of(replace(around, inner=inner))
    policy = replace(LISTED, trust=trust)
    found = [evaluate(one, policy, listed("/usr/bin/git")) for one in (plan_of(steered), plan)]

    if trust is Trust.CLASSICAL:
        assert [Decision.ALLOW] * 2 == [one.decision for one in found]
    else:
        assert [(Decision.ASK, Reason.STEERED, ())] * 2 == [
            (one.decision, one.reason, one.promise) for one in found
        ]
        assert "`a.b = c`" in found[0].why


def test_what_a_wrapper_starts_counts_as_well() -> None:
    """The folder of the inner command's script is checked too."""
    inner = wrapped("timeout", "5", TOOL)
    exposed = replace(inner, inner=(replace(inner.inner[0], exposed="/opt"),))

    assert Decision.ALLOW is evaluate(plan_of(inner), LISTED, listed(TOOL)).decision
    assert Reason.EXPOSED is evaluate(plan_of(exposed), LISTED, listed(TOOL)).reason


def test_nothing_is_promised_for_its_neighbours() -> None:
    """To store another command of the line would not let the line pass."""
    found = evaluate(plan_of(OPEN, command("/opt/b")), LISTED, listed(TOOL))

    assert (Decision.ASK, ()) == (found.decision, found.promise)


def test_full_security_and_access_lists_decide_alone() -> None:
    """If no one is to be asked, no one is."""
    full = replace(LISTED, security=ExecSecurity.FULL)
    acl = [ArgvTemplate.parse([TOOL])]

    assert Decision.ALLOW is evaluate(plan_of(OPEN), full, listed()).decision
    assert Decision.ALLOW is evaluate(plan_of(OPEN), LISTED, listed(), acl).decision


def test_a_denial_stays_a_denial() -> None:
    """A question never softens what a rule forbids."""
    deny = provisions(rule("deny", glob=TOOL))

    assert Decision.DENY is evaluate(plan_of(OPEN), LISTED, listed(), provisions=deny).decision


def test_a_question_for_another_reason_says_it_too() -> None:
    """The folder, and who can change what is there; nothing of it if nothing is asked."""
    unlisted = replace(command("/usr/bin/python3", "x.py"), exposed="/srv", writers="group a (bob)")
    found = evaluate(plan_of(unlisted), LISTED, listed())
    quiet = evaluate(plan_of(command("/usr/bin/python3", "x.py")), LISTED, listed())

    assert Reason.EXPOSED is not found.reason
    assert "may read code from /srv, which others can change: group a (bob)." in found.why
    assert found.why.startswith(quiet.why)
