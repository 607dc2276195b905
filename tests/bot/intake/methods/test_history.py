"""Select what a search of the history keeps, and what of it a caller sees."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.callers.caller import Caller
from bot.intake.methods.history import HistoryMethods, wanted
from bot.intake.registry.params import PastParams
from core.model.access import EVERY_SCOPE
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import Actor, AgentId, ApprovalId, Intake, Requester, SessionKey
from core.store import open_store
from core.store.runs import runs
from core.store.schema.records import HistoryRow
from core.store.schema.states import DecisionSource
from tests.support.store_records import run_draft
from tests.support.tables import rows

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


@rows(
    "state, grep, session, by, kept",
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


@pytest.mark.parametrize(
    ("bound", "named", "found"),
    [
        (None, None, {"one", "two", "three"}),
        (None, "two", {"two"}),
        ({"one", "two"}, None, {"one", "two"}),
        ({"one", "two"}, "two", {"two"}),
        ({"four"}, None, set()),
    ],
)
async def test_a_caller_sees_the_past_of_its_agents(
    tmp_path: Path, bound: set[str] | None, named: str | None, found: set[str]
) -> None:
    """With no filter and no agent named, too; whoever sees all of them sees all of it."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    for name in ("one", "two", "three"):
        ran = run_draft()
        await store.write(runs.begin, replace(ran, plan=replace(ran.plan, agent=AgentId(name))))
    agents = None if bound is None else frozenset(map(AgentId, bound))
    caller = Caller(Requester(Intake.HTTP, "api:1"), None, EVERY_SCOPE, agents)

    answer = await HistoryMethods(store).history(PastParams(agent=named), caller)
    await store.close()

    assert {row.agent for row in answer.history} == found
