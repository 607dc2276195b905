"""Know who may hold which scopes, and which agents somebody sees."""

import pytest

from core.model.access import EVERY_SCOPE, Scope, VisibleAgents, effective, misfit
from tests.support.tables import rows

A, R = Scope.APPROVE, Scope.READ
ASK, ADMIN = Scope.REQUEST, Scope.ADMIN


@rows(
    "scopes, agent, person, why",
    [
        ({R}, None, None, ""),
        ({R, ADMIN}, None, None, ""),
        ({R, ADMIN, A}, None, "ana", ""),
        ({ASK, R}, "main", None, ""),
        (set(), None, None, "A token needs a scope."),
        ({R}, "main", "ana", "never both"),
        ({R, A}, "main", None, "may have the scopes request and read"),
        ({ADMIN}, "main", None, "may have the scopes request and read"),
        ({ASK}, None, None, "Name the agent with --agent"),
        ({ASK}, None, "ana", "Name the agent with --agent"),
        ({A}, None, None, "Name the person with --person"),
    ],
)
def test_who_may_hold_scopes_together(
    scopes: set[Scope], agent: str | None, person: str | None, why: str
) -> None:
    """An agent asks and a person approves; what fits nobody says what would."""
    said = misfit(frozenset(scopes), agent, person)

    assert why in said
    assert bool(said) is bool(why)


@pytest.mark.parametrize(
    ("agent", "person", "lost"),
    [
        ("main", None, {A, ADMIN}),
        ("main", "ana", {A, ADMIN}),
        (None, "ana", {ASK}),
        (None, None, {ASK, A}),
    ],
)
def test_what_holds_of_every_scope(agent: str | None, person: str | None, lost: set[Scope]) -> None:
    """Whatever a row in the store says."""
    assert effective(EVERY_SCOPE, agent, person) == EVERY_SCOPE - lost


@pytest.mark.parametrize(
    ("seen", "has", "whole", "empty"),
    [
        (VisibleAgents(frozenset("a")), "a", False, False),
        (VisibleAgents(frozenset()), "", False, True),
        (VisibleAgents(frozenset("a"), others=True), "b", False, False),
        (VisibleAgents(frozenset(), others=True), "ab", True, False),
    ],
)
def test_which_agents_are_seen(seen: VisibleAgents, has: str, *, whole: bool, empty: bool) -> None:
    """Those that are named, or all but those."""
    assert [one for one in "ab" if one in seen] == list(has)
    assert (seen.is_whole, seen.is_empty) == (whole, empty)
