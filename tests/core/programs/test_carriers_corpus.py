"""Measure how much of the corpus passes through carrier profiles under strict trust."""

from dataclasses import replace

import pytest

from core.model.decision import Decision, Promise
from core.model.policy import Trust
from core.policy.judge.evaluate import evaluate
from tests.core.policy.corpus_judge import COMMANDS, judge, workspace
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

__all__ = ["workspace"]


def test_most_uses_of_carriers_pass_under_strict_trust() -> None:
    """At least 70 % of the everyday uses of carriers pass through their profiles (issue 4)."""
    entries = [
        entry
        for entry in COMMANDS
        if entry["must"] == "allow" and entry.get("classical_only") and not entry.get("optional")
    ]
    asked = [
        entry["id"]
        for entry in entries
        if judge(entry, Trust.STRICT, installed=True) is not Decision.ALLOW
    ]
    share = 1 - len(asked) / len(entries)
    print(f"\nclassical_only under strict: {share:.1%} of {len(entries)} pass; asked: {asked}")
    assert share >= 0.7


@rows("trust", Trust)
@pytest.mark.parametrize(
    "line", ["git status", "find . -name x", "sort notes.txt", "date", "git push", "npm ls"]
)
def test_no_path_of_a_carrier_is_promised(line: str, trust: Trust) -> None:
    """Allow-always stores a carrier with its exact arguments, although its profile knows them."""
    name, *arguments = line.split()
    found = evaluate(plan_of(command(name, *arguments)), replace(LISTED, trust=trust), listed())
    promised = (Promise(f"/usr/bin/{name}", tuple(arguments), ()),)
    assert (found.decision, found.promise) == (Decision.ASK, promised)


def test_a_profile_decides_what_an_allowlisted_carrier_may_do() -> None:
    """Under strict trust a listed git reads without a question, and asks before it writes."""
    allowlist = listed("/usr/bin/git")
    wanted = {"git status": Decision.ALLOW, "git push": Decision.ASK, "git -C x log": Decision.ASK}
    for line, decision in wanted.items():
        found = evaluate(plan_of(command(*line.split())), LISTED, allowlist)
        assert found.decision is decision, line
