"""Load, check and judge the rules that the documents show."""

import re
from pathlib import Path

import pytest

from bot.settings import Settings, load
from core.errors import ConfigError
from core.model.decision import Decision, Evaluation, Tier
from core.model.identity import AgentId
from core.policy.judge.evaluate import evaluate
from core.policy.rules.compiled import compiled
from tests.project.tracked import ROOT
from tests.support.plans import LISTED, listed, plan_of, wrapped

PAGE = ROOT / "docs" / "how-to" / "policy-rules.md"
_RULE = re.compile(r"\{ match: \{[^`\n]*decide: \"[a-z]+\"[^`}\n]*\}")
SHOWN = sorted(
    {
        (page.relative_to(ROOT).as_posix(), rule)
        for page in (ROOT / "docs").rglob("*.md")
        for rule in _RULE.findall(page.read_text(encoding="utf-8"))
    }
)
"""The rules that pages show in passing, in a table or without the settings around them."""


@pytest.fixture
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Return the page's configuration, read as a gateway reads it."""
    (text,) = re.findall(r"```json5\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    home = tmp_path_factory.mktemp("home", numbered=True)
    home.chmod(0o700)
    (home / "config.json5").write_text(text, encoding="utf-8")
    return load(home, environ={})


def judged(settings: Settings, line: str) -> Evaluation:
    """Judge a line under the page's rules, everything listed."""
    held = compiled(settings, "/home/alice").everyone
    return evaluate(plan_of(wrapped(*line.split())), LISTED, listed("/**"), provisions=held)


def test_each_rule_of_the_page_has_examples_of_both_kinds(settings: Settings) -> None:
    """Loading checks them; a page without any would show nothing."""
    rules = settings.tools.exec.rules
    assert len(rules) == 8
    assert all(rule.examples.match and rule.examples.miss for rule in rules)


def test_the_page_says_truly_what_its_rules_decide(settings: Settings) -> None:
    """Among them the meeting of two rules that the page explains."""
    for line, decision, tier in (
        ("shred -u x", Decision.DENY, Tier.ROUTINE),
        ("git push origin main", Decision.DENY, Tier.ROUTINE),
        ("touch /workspace/src/x", Decision.ALLOW, Tier.ROUTINE),
        ("cp app /srv/deploy/x", Decision.ASK, Tier.ELEVATED),
        ("curl http://x", Decision.DENY, Tier.ROUTINE),
        ("cat x", Decision.ALLOW, Tier.ROUTINE),
        ("cat /workspace/.env", Decision.DENY, Tier.ROUTINE),
        ("grep -r x /workspace", Decision.ASK, Tier.ROUTINE),
    ):
        found = judged(settings, line)
        assert (found.decision, found.tier) == (decision, tier), line
    tiers = settings.approvals.exec.tiers
    assert (tiers.critical.quorum, tiers.elevated.timeout) == (2, 300)


def test_the_pages_agent_is_held_to_its_folders(settings: Settings) -> None:
    """`~` is the gateway user's home."""
    granted = compiled(settings, "/home/alice").agents[AgentId("reviewer")].capabilities
    assert granted is not None
    assert granted.read == ("/usr/bin", "/home/alice/src")
    assert granted.write == ("/home/alice/src/review",)


def with_rule(home: Path, rule: str) -> None:
    """Load a configuration with a rule, the option set and the root that pages name."""
    named = 'roots: [{ name: "project", path: "~/p" }], optionSets: { tests: { flags: ["-q"] } }'
    home.chmod(0o700)
    (home / "config.json5").write_text(f"{{ tools: {{ exec: {{ {named}, rules: [{rule}] }} }} }}")
    compiled(load(home, environ={}), "/home/alice")


@pytest.mark.parametrize(("page", "rule"), SHOWN)
def test_a_rule_that_is_shown_in_passing_is_taken(tmp_path: Path, page: str, rule: str) -> None:
    """One was not: a path without `/` or `~/` at its beginning can never match."""
    assert page
    with_rule(tmp_path, rule)


def test_a_rule_that_can_never_match_is_not(tmp_path: Path) -> None:
    """The control, as docs/how-to/example-policy.md had it."""
    with pytest.raises(ConfigError, match="can never match"):
        with_rule(tmp_path, '{ match: { reads: "**/.env" }, decide: "deny" }')
