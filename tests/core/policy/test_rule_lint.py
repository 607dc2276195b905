"""A rule that looks narrow and is not is told."""

from typing import Any

import pytest

from core.policy.provisions import compiled
from core.policy.rule_lint import open_paths
from tests.core.policy.ruled import HOME, rule, settings


def told(*rules: dict[str, Any], **more: Any) -> tuple[str, ...]:
    """Return the warnings about rules."""
    return open_paths(compiled(settings(*rules, **more), HOME))


@pytest.mark.parametrize(
    "argv",
    [
        ("touch", "<PATH>"),
        ("cp", "<PATH>", "<PATH:work>"),
        ("git", "add", "<PATH>"),
        ("/opt/own/tool", "<PATH>"),
        ("make", "-C", "<PATH>"),
    ],
)
def test_a_writer_below_the_working_directory_is_told(argv: tuple[str, ...]) -> None:
    """An agent chooses its folder: programs that write, run others or are unknown are no limit."""
    (line,) = told(rule("allow", *argv), roots={"work": "/srv"})

    assert "tools.exec.rules[0] allows" in line
    assert " ".join(argv) in line
    assert "<PATH:name>" in line


@pytest.mark.parametrize(
    "wanted",
    [
        rule("allow", "cat", "<PATH>"),
        rule("allow", "git", "diff", "--", "<PATH>"),
        rule("allow", "touch", "<PATH:work>"),
        rule("allow", "touch", "made"),
        rule("ask", "touch", "<PATH>"),
        rule("deny", "touch", "<PATH>"),
        rule("allow", glob="/usr/bin/touch"),
        rule("allow", effect="writes"),
    ],
)
def test_what_is_narrow_or_restricts_is_not(wanted: dict[str, Any]) -> None:
    """Readers, named roots and rules that ask or deny are as they should be."""
    assert () == told(wanted, roots={"work": "/srv"})


def test_a_rule_of_one_agent_is_told_once_by_its_place() -> None:
    """Shared rules are every agent's, yet named once."""
    lines = told(rule("allow", "touch", "<PATH>"), own=(rule("allow", "mkdir", "<PATH>"),))

    assert ["tools.exec.rules[0]", "agents.list[coder].tools.exec.rules[0]"] == [
        line.split(" ")[0] for line in lines
    ]
