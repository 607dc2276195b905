"""Read rules of Claude Code that are about other tools than its shell."""

import json

import pytest

from bot.policy_tools.importing.claude_code import read
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import Everything, FileRule, Statement, UnreadStatement


def _read(kind: str, rule: str) -> Statement:
    (statement,) = read(json.dumps({"permissions": {kind: [rule]}}), Origin("file", "/home/alice"))
    return statement


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("deny", "WebFetch(domain:example.org)"),
        ("deny", "mcp__*"),
        ("allow", "Read(./docs/**)"),
        ("allow", "mcp__*"),
        ("allow", "Ba*"),
        ("ask", "Task"),
    ],
)
def test_a_rule_about_another_tool_says_nothing_of_commands(kind: str, rule: str) -> None:
    """It neither denies nor allows any; an allow whose tool is a pattern is none for the shell."""
    statement = _read(kind, rule)
    assert isinstance(statement, UnreadStatement)
    assert (statement.why, statement.narrows) == ("it is not about commands", False)


@pytest.mark.parametrize("rule", ["Bash", "Ba*", "*"])
def test_a_denial_that_covers_the_shell_covers_every_command(rule: str) -> None:
    """By its name, or by a pattern that its name fits."""
    assert isinstance(_read("deny", rule), Everything)


@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize("tool", ["Read", "Edit"])
def test_files_that_are_closed_to_its_tools_are_closed_to_commands(kind: str, tool: str) -> None:
    """That is what its documentation says of both."""
    assert isinstance(_read(kind, f"{tool}(/etc/**)"), FileRule)
