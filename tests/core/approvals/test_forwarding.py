"""Where prompts go (S1 "Approval forwarding to chat channels")."""

import pytest

from core.approvals.forwarding import Forwarding
from core.model.identity import AgentId, SessionKey, Target
from core.settings import ForwardMode

MAIN, SESSION = AgentId("main"), SessionKey("agent:main:telegram:77")
ORIGIN = Target("telegram", "77", thread="5")
FIXED = (Target("telegram", "99"), Target("terminal", "tty"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ForwardMode.SESSION, (ORIGIN,)),
        (ForwardMode.TARGETS, FIXED),
        (ForwardMode.BOTH, (ORIGIN, *FIXED)),
    ],
)
def test_modes(mode: ForwardMode, expected: tuple[Target, ...]) -> None:
    """The mode picks the chat of the session, the fixed targets, or both."""
    assert expected == Forwarding(True, mode, FIXED).routes(MAIN, SESSION, ORIGIN)


def test_each_place_once() -> None:
    """A place that is origin and target gets one prompt."""
    rules = Forwarding(True, ForwardMode.BOTH, (ORIGIN, *FIXED, FIXED[0]))

    assert (ORIGIN, *FIXED) == rules.routes(MAIN, SESSION, ORIGIN)


def test_threads_are_places_of_their_own() -> None:
    """Two threads of one chat are two places."""
    other = Target("telegram", "77", thread="6")

    assert (ORIGIN, other) == Forwarding(True, ForwardMode.BOTH, (other,)).routes(
        MAIN, SESSION, ORIGIN
    )


def test_filters_and_switch() -> None:
    """A filtered agent or session, and a disabled section, get no prompt anywhere."""
    for rules in (
        Forwarding(False, ForwardMode.BOTH, FIXED),
        Forwarding(True, ForwardMode.BOTH, FIXED, agents=frozenset({"other"})),
        Forwarding(True, ForwardMode.BOTH, FIXED, session_matches=lambda key: "discord" in key),
    ):
        assert () == rules.routes(MAIN, SESSION, ORIGIN)
    passing = Forwarding(True, ForwardMode.TARGETS, FIXED, agents=frozenset({"main"}))
    assert FIXED == passing.routes(MAIN, SESSION, None)
