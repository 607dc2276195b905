"""Determine which agent a caller means, and which it may name."""

from dataclasses import replace
from typing import Any

import pytest

from bot.intake.callers.caller import Caller
from core.errors import Forbidden
from core.model.access import EVERY_SCOPE, VisibleAgents
from core.model.identity import AgentId, Intake, Requester, SessionKey
from tests.support.tables import rows

ASKER = Requester(Intake.HTTP, "api:1")
A, B = AgentId("a"), AgentId("b")


def bound(*agents: AgentId) -> Caller:
    """Return a caller that is bound to agents."""
    return Caller(ASKER, None, EVERY_SCOPE, frozenset(agents))


def seeing(*agents: AgentId, others: bool = False) -> Caller:
    """Return a person's caller that sees some agents, or all except those."""
    return Caller(ASKER, None, EVERY_SCOPE, visible=VisibleAgents(frozenset(agents), others))


ANY = Caller(ASKER, None, EVERY_SCOPE)


@rows(
    "caller, named, meant",
    [
        (ANY, None, None),
        (ANY, "a", A),
        (bound(A), None, A),
        (bound(A), "a", A),
        (bound(A, B), "b", B),
        (seeing(A), None, A),
        (seeing(A), "a", A),
        (seeing(A, B), None, None),
        (seeing(A, B), "b", B),
        (seeing(A, others=True), None, None),
        (seeing(A, others=True), "b", B),
        (seeing(A, B, others=True), None, None),
        (seeing(), None, None),
    ],
)
def test_the_only_agent_is_meant_where_none_is_named(
    caller: Caller, named: str | None, meant: AgentId | None
) -> None:
    """Of several, or of all but one, none is picked for the caller."""
    assert caller.agent(named) == meant


@pytest.mark.parametrize(
    ("caller", "named"),
    [
        (bound(A), "b"),
        (bound(A, B), None),
        (bound(A, B), "c"),
        (bound(), None),
        (seeing(A), "b"),
        (seeing(A, others=True), "a"),
        (seeing(), "a"),
    ],
)
def test_another_agent_is_refused(caller: Caller, named: str | None) -> None:
    """Neither is named, nor picked among several."""
    with pytest.raises(Forbidden):
        caller.agent(named)


@pytest.mark.parametrize("caller", [bound(A), seeing(A)])
def test_a_narrowed_caller_has_its_own_sessions(caller: Caller) -> None:
    """Merely knowing a session's name gives one of its own; a caller that sees all gets it."""
    assert caller.session(A, "main") == SessionKey("agent:a:main")
    assert caller.session(A, "agent:b:main") == SessionKey("agent:a:agent:b:main")
    assert caller.session(A, "agent:a:main") == SessionKey("agent:a:main")
    assert ANY.session(A, "main") == SessionKey("main")
    assert (caller.sees(A), caller.sees(B), caller.sees_all) == (True, False, False)
    assert (ANY.sees(A), ANY.sees(B), ANY.sees_all) == (True, True, True)


def test_a_printed_caller_says_nothing_of_its_connection() -> None:
    """What it calls back holds the whole of it."""
    calls_back: Any = print
    connected = replace(ANY, notify=calls_back, begun=calls_back)

    assert repr(connected) == repr(ANY)
    assert connected == ANY
