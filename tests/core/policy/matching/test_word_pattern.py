"""Match the words of a command, whatever their number (``match.words``)."""

import pytest

from core.errors import ConfigError
from core.model.decision import Decision
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from tests.core.policy.configured_rules import HOME, provisions, rule
from tests.support.plans import LISTED, plan_of, wrapped
from tests.support.tables import rows


def decision(pattern: str, *argv: str) -> Decision:
    """Judge a vector of a listed program under one rule that denies."""
    held = provisions(
        rule("deny", words=pattern), rule("allow", "mytool", "<REST:any>"), rule("allow", argv[0])
    )
    lists = Allowlist((), HOME)
    return evaluate(plan_of(wrapped(*argv)), LISTED, lists, provisions=held).decision


@rows(
    "pattern, argv",
    [
        ("mytool * --force*", ("mytool", "a", "b", "c", "--force-it", "x")),
        ("* --force", ("mytool", "--force")),
        ("*prod*", ("mytool", "--to=prod-1")),
        ("mytool run *", ("mytool", "run")),
        ("mytool run *", ("mytool", "run", "x", "y")),
        ("mytool '*", ("mytool", "'", "x")),
        ("mytool <NAME>", ("mytool", "<NAME>")),
        ("/usr/bin/mytool x", ("mytool", "x")),
        ("mytool a b", ("mytool", "a b")),
    ],
)
def test_a_pattern_spans_words(pattern: str, argv: tuple[str, ...]) -> None:
    """A star is any run of characters, including blanks between words; a name is its only word."""
    assert Decision.DENY is decision(pattern, *argv)


@pytest.mark.parametrize(
    ("pattern", "argv"),
    [
        ("mytool * --force", ("mytool", "--force", "x")),
        ("mytool run *", ("mytool", "runs")),
        ("mytool", ("mytool", "x")),
        ("other *", ("mytool", "other")),
    ],
)
def test_a_pattern_is_about_all_words(pattern: str, argv: tuple[str, ...]) -> None:
    """From the program to the last."""
    assert Decision.ALLOW is decision(pattern, *argv)


def test_a_wrapped_command_is_held_to_it() -> None:
    """As by any rule that denies."""
    assert Decision.DENY is decision("mytool * --force", "timeout", "5", "mytool", "x", "--force")


def test_words_from_standard_input_may_fit() -> None:
    """`xargs` adds more of them, so a person is asked."""
    held = provisions(rule("deny", words="* prod"), rule("allow", "ls", "<REST:any>"))
    plan = plan_of(wrapped("xargs", "ls"))
    found = evaluate(plan, LISTED, Allowlist((), HOME), provisions=held)

    assert Decision.ASK is found.decision


def test_nothing_is_allowed_by_a_pattern() -> None:
    """Where a blank is cannot be told from joined words."""
    with pytest.raises(ConfigError, match=r"match\.words asks or denies"):
        provisions(rule("allow", words="git *"))
