"""Read prefixes of Gemini CLI, which have no wildcards."""

import json

import pytest

from bot.policy_tools.importing.gemini import read
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.statements import Rule, Statement, UnreadStatement
from core.model.decision import Decision


def _read(decide: str, prefix: str) -> Statement:
    rule = f'[[rule]]\ntoolName = "run_shell_command"\ndecision = "{decide}"\npriority = 10\n'
    (statement,) = read(
        f"{rule}commandPrefix = {json.dumps(prefix)}\n", Origin("file", "/home/alice")
    )
    return statement


@pytest.mark.parametrize("prefix", ["ls *", "git * --force", "ls '*'"])
def test_an_allow_with_a_star_is_not_taken_for_one_of_any_words(prefix: str) -> None:
    """Gemini compares the sign itself, which a shell would expand; so it is left out."""
    statement = _read("allow", prefix)
    assert isinstance(statement, UnreadStatement)
    assert statement.allows


def test_a_denial_with_a_star_asks_about_what_is_before_it() -> None:
    """More than it said, and never less."""
    statement = _read("deny", "git push *")
    assert isinstance(statement, Rule)
    assert (statement.decide, statement.words) == (Decision.ASK, ("git", "push"))
