"""Measure how often the example policy asks about command lines of a real coding agent."""

import re
from collections import Counter
from pathlib import Path

import pytest

from core.policy.rules.compiled import NO_PROVISIONS
from tests.core.policy.developer import EXAMPLE, example_settings
from tests.core.policy.real_lines import ARGUABLE, RealLine, judged_lines
from tests.support.plans import corpus

PAGE = EXAMPLE.parents[1] / "how-to" / "example-policy.md"


@pytest.fixture
def found(tmp_path: Path) -> list[RealLine]:
    """Return the counted lines, judged under the example."""
    return judged_lines(example_settings(tmp_path / "state"), tmp_path)


def harmless(found: list[RealLine]) -> list[RealLine]:
    """Return the lines that only look."""
    return [one for one in found if one.entry["harmless"]]


def share(found: list[RealLine]) -> float:
    """Return the share of lines that are not allowed."""
    return sum(bool(one.why) for one in found) / len(found)


def test_real_lines_are_seldom_asked_about(
    found: list[RealLine], capsys: pytest.CaptureFixture[str]
) -> None:
    """At most 48 % of the distinct lines, and 18 % of those that only look (issue 9)."""
    looks = harmless(found)
    reasons = Counter(shape(one.why) for one in looks if one.why)
    with capsys.disabled():
        print(f"\nreal lines: {share(found):.1%} of {len(found)} not allowed (goal 48 %)")
        print(f"of those that only look: {share(looks):.1%} of {len(looks)} (goal 18 %)")
        for reason, count in reasons.most_common(10):
            print(f"{count:4} {reason}")
    assert len(found) >= 550
    assert len(looks) >= 220
    assert share(found) <= 0.48
    assert share(looks) <= 0.18


def test_the_page_shows_the_figures_of_today(found: list[RealLine]) -> None:
    """docs/how-to/example-policy.md names both shares, at most two points off, and the goals."""
    page = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"\| ([0-9]+) % \| ([0-9]+) % \|", page)
    today = [100 * share(lines) for lines in (found, harmless(found))]
    assert [goal for _, goal in shown] == ["48", "18"]
    assert all(abs(int(one) - now) <= 2 for (one, _), now in zip(shown, today, strict=True))


def test_without_rules_nearly_everything_asks(tmp_path: Path) -> None:
    """Negative control: what allows the lines is the policy."""
    settings = example_settings(tmp_path / "state")
    found = judged_lines(settings, tmp_path, provisions=NO_PROVISIONS)
    assert share(found) > 0.9


def test_arguable_lines_are_marked_harmless_and_not_allowed(found: list[RealLine]) -> None:
    """Each has a reason, and leaves the list once it is allowed."""
    marked = {one["id"] for one in corpus("real_lines.json") if one["harmless"]}
    allowed = {one.entry["id"] for one in found if not one.why}
    assert set(ARGUABLE) <= marked
    assert set(ARGUABLE) & allowed == set()
    assert all(ARGUABLE.values())


def shape(why: str) -> str:
    """Return a reason without the names in it, so that similar ones are counted together."""
    return re.sub(r"`[^`]*`|'[^']*'|/[^ ]*", "…", why)[:100]
