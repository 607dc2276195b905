"""Select what a search of the history keeps."""

from dataclasses import replace

import pytest

from bot.intake.methods.history import wanted
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import Actor, AgentId, ApprovalId, SessionKey
from core.store.schema.records import HistoryRow
from core.store.schema.states import DecisionSource

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
ROW = HistoryRow(
    id=ApprovalId("01jz0000000000000000000000"),
    code="abcd",
    at_ms=1,
    agent=AgentId("main"),
    session=SessionKey("main"),
    place="/srv",
    text=f"curl -H 'Authorization: Bearer {TOKEN}' Example.org",
    source=DecisionSource.PERSON,
    by=Actor("telegram", "42", "Ana"),
    reply=ApprovalReply.DENY,
    reason=None,
    state=ApprovalState.DENIED,
    end=None,
)


@pytest.mark.parametrize(
    ("state", "grep", "session", "by", "kept"),
    [
        (None, None, None, None, True),
        ("denied", None, None, None, True),
        ("allowed", None, None, None, False),
        (None, "example.ORG", None, None, True),
        (None, "example.com", None, None, False),
        (None, TOKEN, None, None, False),
        (None, None, "main", None, True),
        (None, None, "mai", None, False),
        (None, None, None, "ana", True),
        (None, None, None, "42", True),
        (None, None, None, "telegram:42", True),
        (None, None, None, "telegram", False),
        (None, None, None, "bo", False),
        ("denied", "curl", "main", "ANA", True),
        ("allowed", "curl", "main", "ANA", False),
        ("denied", "wget", "main", "ANA", False),
        ("denied", "curl", "other", "ANA", False),
        ("denied", "curl", "main", "bo", False),
    ],
)
def test_each_filter_that_is_given_must_hold(
    state: str | None, grep: str | None, session: str | None, by: str | None, kept: bool
) -> None:
    """Without a filter every row stays; a masked secret is in no text that is searched."""
    assert wanted(state, grep, session, by)(ROW) is kept


def test_what_nobody_decided_is_by_nobody() -> None:
    """A row of the policy has no person, whatever name is searched for."""
    unasked = replace(ROW, by=None, reply=None, source=DecisionSource.POLICY)

    assert wanted(None, None)(unasked)
    assert not wanted(None, None, by="ana")(unasked)
