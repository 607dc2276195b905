"""Judge the corpus of published bypasses and of harmless commands, in both trust modes."""

from typing import Any

import pytest

from core.model.decision import Decision
from core.model.policy import Trust
from tests.core.policy.corpus_judge import COMMANDS, judge, workspace
from tests.support.plans import listed

__all__ = ["workspace"]
"""Provide a fixture for all tests here."""


def negatives(trust: Trust) -> list[dict[str, Any]]:
    """Return the entries that must not be allowed under this trust."""
    return [
        entry
        for entry in COMMANDS
        if entry["must"] == "not-auto-allow"
        and (trust is Trust.STRICT or not entry.get("strict_only"))
    ]


def benign(trust: Trust) -> list[dict[str, Any]]:
    """Return the entries that name ordinary programs and should be allowed under this trust."""
    return [
        entry
        for entry in COMMANDS
        if entry["must"] == "allow"
        and not entry.get("optional")
        and (trust is Trust.CLASSICAL or not entry.get("classical_only"))
    ]


@pytest.mark.parametrize("installed", [False, True])
@pytest.mark.parametrize("trust", Trust)
def test_no_published_bypass_is_allowed(trust: Trust, installed: bool) -> None:
    """None of the corpus's negatives passes, whether or not its program is installed."""
    entries = negatives(trust)
    allowed = [
        entry["id"]
        for entry in entries
        if judge(entry, trust, installed=installed) is Decision.ALLOW
    ]
    print(f"\n{trust.value}, installed={installed}: {len(allowed)} of {len(entries)} allowed")
    assert allowed == []


@pytest.mark.parametrize("trust", Trust)
def test_everyday_commands_pass(trust: Trust) -> None:
    """At least 95 % of the harmless entries need no one."""
    entries = benign(trust)
    asked = [
        entry["id"]
        for entry in entries
        if judge(entry, trust, installed=True) is not Decision.ALLOW
    ]
    share = 1 - len(asked) / len(entries)
    print(f"\n{trust.value}: {share:.1%} of {len(entries)} harmless commands pass; not: {asked}")
    assert share >= 0.95


def test_an_allowlist_of_everything_lets_bypasses_through() -> None:
    """Negative control: the check sees allows once classical trust and ``/**`` are given."""
    everything = listed("/**")
    allowed = [
        entry["id"]
        for entry in COMMANDS
        if entry["class"] == "trusted-binary-args"
        and judge(entry, Trust.CLASSICAL, installed=True, allowlist=everything) is Decision.ALLOW
    ]
    assert len(allowed) > 40
