"""Say an entry and a promise as people read them; grant nothing that was not said."""

from dataclasses import replace
from typing import Any

import pytest

from core.model.approval import (
    HALF_HOUR,
    THIS_SESSION,
    THIS_TASK,
    AllowlistEntry,
    Approval,
    GrantTerms,
)
from core.model.decision import Promise
from core.model.identity import ApprovalId

HASH = "0" * 64


@pytest.mark.parametrize(
    ("argv", "content", "words", "scope"),
    [
        (None, (), "/b/x", "/b/x with any arguments"),
        ((), (), "/b/x without arguments", ""),
        (("a", "b c"), (), "/b/x a 'b c' exactly", ""),
        (
            None,
            (("/b/x", HASH),),
            "/b/x, while it stays as it is",
            "/b/x with any arguments, while it stays as it is",
        ),
        (("s",), (("/s 1", HASH),), "/b/x s exactly, while '/s 1' stays as it is", ""),
        (
            ("s",),
            (("/s", HASH), ("/b/x", HASH)),
            "/b/x s exactly, while /s and /b/x stay as they are",
            "",
        ),
    ],
)
def test_what_an_entry_lets_run(
    argv: tuple[str, ...] | None, content: tuple[tuple[str, str], ...], words: str, scope: str
) -> None:
    """A bare path lets any arguments run, which is said before it is granted."""
    promise = Promise("/b/x", argv, content)

    assert promise.words == words
    assert promise.scope == (scope or words)
    assert AllowlistEntry("/b/x", None, argv, content).words == words


def test_terms_limit_only_what_they_name() -> None:
    """Each of the ready ones has one limit."""
    assert GrantTerms() == GrantTerms(None, None, session_only=False, task_only=False)
    assert HALF_HOUR == GrantTerms(1_800_000)
    assert THIS_SESSION == replace(GrantTerms(), session_only=True)
    assert THIS_TASK == replace(GrantTerms(), task_only=True)


def test_a_question_asks_for_no_more_than_was_said() -> None:
    """One person, by a button, in front of nothing."""
    unused: Any = None
    asked = Approval(ApprovalId("abcdef" + "0" * 26), unused, unused, unused, None, 0, 1)

    assert (asked.code, asked.quorum, asked.step_up, asked.behind) == ("ABCDEF", 1, False, None)
