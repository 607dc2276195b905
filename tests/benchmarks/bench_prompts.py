"""Measure how often the shipped example policy asks, over everyday lines of coding work.

Goal (issue 4): a prompt for at most 20 % of them, and no line that needs a person runs unasked.
"""

from collections import Counter
from pathlib import Path

import pytest

from core.model.decision import Decision
from core.policy.rules.compiled import NO_PROVISIONS, compiled
from tests.core.policy.developer import Verdict, example_settings, judged, workspace

GOAL = 0.20
FEWEST = 300


def share(found: list[Verdict]) -> float:
    """Return the share of lines that ask."""
    return sum(one.decision is Decision.ASK for one in found) / len(found)


def lines_of(found: list[Verdict], *, hostile: bool) -> list[Verdict]:
    """Return the hostile lines, or the everyday ones."""
    return [one for one in found if (one.entry["class"] == "hostile") is hostile]


@pytest.mark.benchmark
def test_the_example_policy_rarely_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At most one everyday line in five needs a person; with no rules nearly every line does."""
    settings, folder = example_settings(tmp_path / "state"), workspace(tmp_path)
    rules = compiled(settings, str(tmp_path)).everyone
    found = judged(settings, folder, rules)
    without = judged(settings, folder, NO_PROVISIONS)
    everyday, hostile = (lines_of(found, hostile=one) for one in (False, True))
    harmless = [one for one in everyday if one.entry["needs"] == "nobody"]
    with capsys.disabled():
        print(f"\n{len({one.entry['command'] for one in everyday})} everyday lines")
        print(f"prompts: {share(everyday):.1%} (goal <= {GOAL:.0%})")
        print(f"prompts for harmless lines: {share(harmless):.1%} of {len(harmless)}")
        print(f"prompts without the rules: {share(lines_of(without, hostile=False)):.1%}")
        print(f"prompts with {len(hostile)} hostile lines among them: {share(found):.1%}")
        print(f"decisions about hostile lines: {dict(decisions(hostile))}")
    assert len({one.entry["command"] for one in everyday}) >= FEWEST
    assert share(everyday) <= GOAL
    assert share(lines_of(without, hostile=False)) > 2 * GOAL


def decisions(found: list[Verdict]) -> Counter[str]:
    """Count the decisions."""
    return Counter(one.decision.word for one in found)
