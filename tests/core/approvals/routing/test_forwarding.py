"""Check where prompts go, and when (S1 "Approval forwarding to chat channels")."""

from collections.abc import Callable
from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest

from core.approvals.routing.forwarding import Asker, EscalationStep, Forwarding, Ladder, Route
from core.approvals.routing.quiet_hours import QuietHours
from core.model.identity import AgentId, SessionKey, Target
from core.settings.approvals import ForwardMode

ORIGIN = Target("telegram", "77", thread="5")
FIXED = (Target("telegram", "99"), Target("terminal", "tty"))
TEAM, CHIEF, BOSS = Target("slack", "C1"), Target("slack", "U1"), Target("telegram", "1")
BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = QuietHours(time(22), time(7), BERLIN)
S = 1000


def _at(clock: str) -> int:
    moment = datetime.fromisoformat(f"2026-05-04T{clock}").replace(tzinfo=BERLIN)
    return round(moment.timestamp() * S)


def _ladder(
    rules: Forwarding,
    *,
    origin: Target | None = ORIGIN,
    at: str = "12:00",
    usable: Callable[[Target], bool] = lambda _: True,
) -> Ladder:
    asker = Asker(AgentId("main"), SessionKey("agent:main:telegram:77"), origin, _at(at))
    return rules.ladder(asker, 600 * S, 300 * S, usable)


def _places(ladder: Ladder) -> tuple[Target, ...]:
    return tuple(route.target for route in ladder.routes)


def _steps(*steps: EscalationStep, quiet: QuietHours | None = None) -> Forwarding:
    return Forwarding(True, ForwardMode.SESSION, (), steps=steps, quiet=quiet)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ForwardMode.SESSION, (ORIGIN,)),
        (ForwardMode.TARGETS, FIXED),
        (ForwardMode.BOTH, (ORIGIN, *FIXED)),
    ],
)
def test_modes(mode: ForwardMode, expected: tuple[Target, ...]) -> None:
    """The mode picks the chat of the session, the fixed targets, or both; reminded at half time."""
    ladder = _ladder(Forwarding(True, mode, FIXED))

    assert expected == _places(ladder)
    assert (600 * S, (300 * S,)) == (ladder.timeout_ms, ladder.reminders)
    assert {(0, 0)} == {(route.after_ms, route.step) for route in ladder.routes}


def test_each_place_once() -> None:
    """A place that is origin and target, or is in two steps, gets one prompt, the earliest."""
    assert (ORIGIN, *FIXED) == _places(
        _ladder(Forwarding(True, ForwardMode.BOTH, (ORIGIN, *FIXED, FIXED[0])))
    )
    ladder = _ladder(
        _steps(EscalationStep((TEAM,), False, 60 * S), EscalationStep((TEAM, CHIEF), False, 90 * S))
    )
    assert (Route(TEAM, 0, 0), Route(CHIEF, 60 * S, 1)) == ladder.routes
    assert 150 * S == ladder.timeout_ms


def test_threads_are_places_of_their_own() -> None:
    """Two threads of one chat are two places."""
    other = Target("telegram", "77", thread="6")

    assert (ORIGIN, other) == _places(_ladder(Forwarding(True, ForwardMode.BOTH, (other,))))


def test_filters_and_switch() -> None:
    """A filtered agent or session, and a disabled section, get no prompt anywhere."""
    for rules in (
        Forwarding(False, ForwardMode.BOTH, FIXED),
        Forwarding(True, ForwardMode.BOTH, FIXED, agents=frozenset({"other"})),
        Forwarding(True, ForwardMode.BOTH, FIXED, session_matches=lambda key: "discord" in key),
    ):
        assert Ladder((), 600 * S, ()) == _ladder(rules)
    passing = Forwarding(True, ForwardMode.TARGETS, FIXED, agents=frozenset({"main"}))
    assert FIXED == _places(_ladder(passing, origin=None))


def test_a_ladder_asks_one_after_the_other() -> None:
    """Each step begins when the one before has used its time, and reminds within its own."""
    ladder = _ladder(
        _steps(
            EscalationStep((TEAM,), True, 300 * S, 100 * S),
            EscalationStep((CHIEF,), False, 200 * S),
            EscalationStep((BOSS,), False, 400 * S, 150 * S),
        )
    )

    assert ladder == Ladder(
        (
            Route(ORIGIN, 0, 0),
            Route(TEAM, 0, 0),
            Route(CHIEF, 300 * S, 1),
            Route(BOSS, 500 * S, 2),
        ),
        900 * S,
        (100 * S, 200 * S, 650 * S, 800 * S),
    )


def test_a_step_that_reaches_nobody_costs_no_time() -> None:
    """The next one replaces it at once; without any, this machine's list has all of it."""
    steps = _steps(EscalationStep((TEAM,), False, 300 * S), EscalationStep((BOSS,), False, 400 * S))

    assert Ladder((Route(BOSS, 0, 0),), 400 * S, ()) == _ladder(
        steps, usable=lambda place: place.channel == "telegram"
    )
    assert Ladder((), 700 * S, ()) == _ladder(steps, usable=lambda _: False)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("12:00", ((TEAM, 0), (BOSS, 300), (CHIEF, 700))),
        ("21:54", ((TEAM, 0), (BOSS, 300))),
        ("23:00", ((BOSS, 0),)),
        ("06:55", ((BOSS, 0), (CHIEF, 400))),
        ("07:00", ((TEAM, 0), (BOSS, 300), (CHIEF, 700))),
    ],
)
def test_in_quiet_hours_only_waking_steps_are_asked(
    at: str, expected: tuple[tuple[Target, int], ...]
) -> None:
    """A step that would begin in them is left out, and the next waking one is asked at once."""
    ladder = _ladder(
        _steps(
            EscalationStep((TEAM,), False, 300 * S),
            EscalationStep((BOSS,), False, 400 * S, wake=True),
            EscalationStep((CHIEF,), False, 100 * S),
            quiet=NIGHT,
        ),
        at=at,
    )

    assert expected == tuple((one.target, one.after_ms // S) for one in ladder.routes)
    assert [*range(len(expected))] == [one.step for one in ladder.routes]


def test_nobody_may_be_woken() -> None:
    """The ladder says until when, and only if a person could have been reached."""
    rules = Forwarding(True, ForwardMode.SESSION, (), quiet=NIGHT)

    quiet = Ladder((), 600 * S, (), "quiet hours until 07:00 Europe/Berlin")
    assert quiet == _ladder(rules, at="03:00")
    assert Ladder((), 600 * S, ()) == _ladder(rules, at="03:00", usable=lambda _: False)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Forwarding(True, ForwardMode.SESSION, FIXED), True),
        (Forwarding(True, ForwardMode.TARGETS, FIXED), False),
        (Forwarding(False, ForwardMode.BOTH, FIXED), False),
        (_steps(EscalationStep((TEAM,), False, S)), False),
        (_steps(EscalationStep((TEAM,), False, S), EscalationStep((), True, S)), True),
    ],
)
def test_the_sessions_chat_is_looked_up_only_where_it_is_asked(
    rules: Forwarding, expected: bool
) -> None:
    """What the store knows about a session is read only for modes and steps that need it."""
    assert expected is rules.needs_origin


@pytest.mark.parametrize(
    ("quiet", "at", "held"),
    [(None, "23:00", False), (NIGHT, "23:00", True), (NIGHT, "12:00", False)],
)
def test_nobody_is_woken_in_quiet_hours_alone(
    quiet: QuietHours | None, at: str, held: bool
) -> None:
    """Without them a browser is woken at any hour."""
    rules = Forwarding(True, ForwardMode.SESSION, (), quiet=quiet)

    assert rules.holds(_at(at)) is held
