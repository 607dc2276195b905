"""Say how much of the corpus passes through carrier profiles under strict trust."""

from core.model.decision import Decision
from core.model.policy import Trust
from tests.core.policy.test_corpus import COMMANDS, judge, workspace

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
