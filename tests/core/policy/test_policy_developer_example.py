"""Judge the developer corpus under the shipped example policy."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.settings import Settings
from core.model.decision import Decision
from core.model.policy import Trust
from core.policy.rules.compiled import NO_PROVISIONS, Provisions, compiled
from core.policy.rules.rules import Rules
from core.settings.rules import RuleSection
from tests.core.policy.developer import (
    EXAMPLE,
    Planned,
    Verdict,
    example_settings,
    judged,
    verdict,
    workspace,
)
from tests.support.plans import corpus, in_usr_bin


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the example as the configuration of a home."""
    return example_settings(tmp_path / "state")


@pytest.fixture
def found(settings: Settings, tmp_path: Path) -> list[Verdict]:
    """Return the verdicts on the whole corpus."""
    return judged(settings, workspace(tmp_path), compiled(settings, str(tmp_path)).everyone)


def test_the_corpus_is_large_and_each_line_stands_once() -> None:
    """At least 300 distinct everyday lines, each with what it needs."""
    entries = corpus("developer.json")
    lines = [entry["command"] for entry in entries]

    assert len(lines) == len(set(lines))
    assert 300 <= sum(entry["class"] != "hostile" for entry in entries)
    assert {"nobody", "person"} == {entry["needs"] for entry in entries}


def test_nothing_that_needs_a_person_runs_unasked(found: list[Verdict]) -> None:
    """Not one push, deletion, installation, upload or trick is allowed."""
    allowed = [
        one.entry["command"]
        for one in found
        if one.entry["needs"] == "person" and one.decision is Decision.ALLOW
    ]
    assert [] == allowed


def test_at_most_one_everyday_line_in_five_asks(found: list[Verdict]) -> None:
    """The share of prompts over everyday lines, including those that need a person."""
    everyday = [one for one in found if one.entry["class"] != "hostile"]
    asked = [one for one in everyday if one.decision is Decision.ASK]

    assert len(asked) / len(everyday) <= 0.20
    assert [] == [one for one in everyday if one.decision is Decision.DENY and _harmless(one)]


def test_the_page_tells_the_figures_of_today(found: list[Verdict]) -> None:
    """docs/how-to/example-policy.md names how many lines there are and how many ask."""
    text = (EXAMPLE.parents[1] / "how-to" / "example-policy.md").read_text(encoding="utf-8")
    page = " ".join(text.split())
    everyday = [one for one in found if one.entry["class"] != "hostile"]
    harmless = [one for one in everyday if one.entry["needs"] == "nobody"]

    assert f"Of the {len(everyday)} everyday lines" in page
    assert f"about {_asked(everyday):.0%} ask. Most of these".replace("%", " %") in page
    assert f"of the harmless ones, about {_asked(harmless):.0%} ask.".replace("%", " %") in page
    assert f"any of {len(found) - len(everyday)} hostile ones" in page


def test_what_it_never_allows_is_denied_with_its_reason(found: list[Verdict]) -> None:
    """A force push and the deletion of everything are refused in words."""
    by_line = {one.entry["command"]: one for one in found}

    for line in ("git push --force origin main", "rm -rf /", "sudo apt-get install nginx"):
        assert Decision.DENY is by_line[line].decision
        assert "tools.exec.rules[" in by_line[line].why


def test_a_wider_policy_lets_lines_through_that_need_a_person(
    settings: Settings, tmp_path: Path
) -> None:
    """Negative control: the check sees allows once every program is trusted by its path."""
    anything = RuleSection.model_validate({"match": {"glob": "/**"}, "decide": "allow"})
    wide = {"rules": (anything,), "trust": Trust.CLASSICAL}
    tools = settings.tools.model_copy(update={"exec": settings.tools.exec.model_copy(update=wide)})
    opened = settings.model_copy(update={"tools": tools})
    rules = compiled(opened, str(tmp_path)).everyone
    allowed = {
        one.entry["command"]
        for one in judged(opened, workspace(tmp_path), rules)
        if one.entry["needs"] == "person" and one.decision is Decision.ALLOW
    }

    assert {"git push", "rm notes.md", "mkdir -p /etc/evil", "touch ../outside"} <= allowed


def test_every_rule_that_allows_is_needed(settings: Settings, tmp_path: Path) -> None:
    """Without the rules that allow, nothing but safe bins passes; each family carries lines."""
    folder = workspace(tmp_path)
    everyone = compiled(settings, str(tmp_path)).everyone
    bare = judged(settings, folder, NO_PROVISIONS)
    strict = Provisions(Rules([one for one in everyone.rules.rules if one.decide > Decision.ALLOW]))
    denied = judged(settings, folder, replace(everyone, rules=strict.rules))

    assert sum(one.decision is Decision.ALLOW for one in bare) < len(bare) / 20
    assert sum(one.decision is Decision.ALLOW for one in denied) < len(bare) / 20


@pytest.mark.parametrize(
    ("allowed", "asked"),
    [
        ("npm run test -- --run", "npm run deploy -- --run"),
        ("npm run test:unit -- --coverage", "npm run test -- --config=/tmp/x.js"),
        ("npm run test -- --silent", "npm run test --script-shell=./x -- --silent"),
        ("npm run test -- --watch=false", "npm run test --prefix /tmp/x -- --watch=false"),
        ("python3 -m unittest", "python3 -m unittest /tmp/x.py"),
        ("python3 -m unittest -v", "python3 -m unittest antigravity"),
        ("python3 -m unittest discover", "PYTHONPATH=/tmp/x python3 -m unittest discover"),
        ("python3 -m unittest discover -s tests", "python3 -m unittest discover -s /tmp/x"),
        ("python3 -m unittest discover -p test_a.py", "python3 -m unittest discover -p '*'"),
        ("python3 -m unittest discover -q -s tests", "python3 -m unittest discover -t / -s tests"),
        ("python3 -m unittest discover -s ./tests", "python3 -m unittest discover -s antigravity"),
        ("python3 -m unittest discover -s .", "python3 -m unittest discover -s tests/../../x"),
        ("printenv PATH", "printenv"),
        ("printenv PATH | tr : x", "printenv GITHUB_TOKEN"),
    ],
)
def test_what_is_allowed_stops_at_its_dangerous_form(
    allowed: str, asked: str, settings: Settings, tmp_path: Path
) -> None:
    """The same words, and next to them what starts, reads or shows something else."""
    rules = compiled(settings, str(tmp_path)).everyone
    planned = Planned(settings, rules, workspace(tmp_path), in_usr_bin)

    assert Decision.ALLOW is verdict({"command": allowed}, planned).decision
    assert Decision.ASK is verdict({"command": asked}, planned).decision


def _harmless(one: Verdict) -> bool:
    return bool(one.entry["needs"] == "nobody")


def _asked(found: list[Verdict]) -> float:
    return sum(one.decision is Decision.ASK for one in found) / len(found)
