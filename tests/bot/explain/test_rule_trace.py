"""Show of a rule what it does under the trust in effect."""

import pytest

from bot.explain.rule_trace import shown, to_json, traces_of
from core.model.policy import Trust
from tests.core.policy.configured_rules import provisions, rule
from tests.support.plans import plan_of, wrapped


@pytest.mark.parametrize(("trust", "matches"), [(Trust.STRICT, False), (Trust.CLASSICAL, True)])
def test_a_rest_matches_as_trust_reads_it(trust: Trust, *, matches: bool) -> None:
    """No profile knows what `make all` does: only classical trust takes it for <REST>."""
    held = provisions(rule("allow", "make", "<REST>"))
    traces = traces_of(plan_of(wrapped("make", "all")), held.rules, trust)

    (look,) = to_json(traces)
    assert isinstance(look["rules"], list)
    (one,) = look["rules"]
    assert (one["matched"], one["winner"]) == (matches, matches)
    assert shown(traces)[-1].split()[:2] == (["=>", "allow"] if matches else ["no", "match"])


def test_many_rules_that_do_not_match_are_counted() -> None:
    """Those that match are listed either way."""
    other = [rule("deny", "git", f"sub{number}") for number in range(13)]
    held = provisions(*other, rule("allow", "make", "all"))
    plan = plan_of(wrapped("make", "all"))

    assert [line.strip() for line in shown(traces_of(plan, held.rules, Trust.STRICT))[2:]] == [
        "=> allow     tools.exec.rules[13]",
        "13 rules do not match; --json lists them",
    ]
