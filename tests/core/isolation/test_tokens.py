"""Test session tokens: expired, replayed, foreign, raced, rate-limited, after completion."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from core.isolation import tokens
from core.isolation.tokens import Holder, SessionTokens, TokenRefused

HOLDER = Holder("sayso_alice", "agent:main:one", "e1")


class Clock:
    """A clock that is moved by hand."""

    now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return the clock of the tokens."""
    return Clock()


@pytest.fixture
def made(clock: Clock) -> SessionTokens:
    """Return tokens as they are by default: a day, one use."""
    return SessionTokens(86400, 1, clock)


def refusal(made: SessionTokens, token: str, holder: Holder = HOLDER) -> str:
    """Return why a request cannot be begun with a token."""
    with pytest.raises(TokenRefused) as caught:
        made.begin(token, holder)
    return str(caught.value)


def test_a_token_begins_its_request_and_passes_its_calls(made: SessionTokens) -> None:
    """The control for everything that follows."""
    token = made.mint(HOLDER)

    made.begin(token, HOLDER)
    made.check(token, HOLDER)

    assert len(token) >= 43  # 256 bits in base64


def test_session_token_expires(made: SessionTokens, clock: Clock) -> None:
    """S2's security test, in its words; the calls of a begun request end with it, too."""
    fresh, begun = made.mint(HOLDER), made.mint(HOLDER)
    made.begin(begun, HOLDER)
    clock.now += 86400

    assert refusal(made, fresh) == "Token expired"
    with pytest.raises(TokenRefused, match="Token expired"):
        made.check(begun, HOLDER)


def test_it_is_good_until_the_last_moment(made: SessionTokens, clock: Clock) -> None:
    """It does not expire early."""
    token = made.mint(HOLDER)
    clock.now += 86399.9

    made.begin(token, HOLDER)


def test_a_replay_is_refused(made: SessionTokens) -> None:
    """One use."""
    token = made.mint(HOLDER)
    made.begin(token, HOLDER)

    assert refusal(made, token) == "Token already used"


@pytest.mark.parametrize("part", ["user", "session", "executor"])
def test_a_foreign_token_is_refused(made: SessionTokens, part: str) -> None:
    """It is bound to user, session and executor; an attempt does not use it up."""
    token = made.mint(HOLDER)
    stranger = replace(HOLDER, **{part: "other"})

    assert refusal(made, token, stranger) == "Token of another session"
    made.begin(token, HOLDER)
    with pytest.raises(TokenRefused):
        made.check(token, stranger)


def test_of_a_hundred_at_once_one_wins(made: SessionTokens) -> None:
    """Raced by threads, as far as there is a race."""
    token = made.mint(HOLDER)

    def tried(_number: int) -> bool:
        try:
            made.begin(token, HOLDER)
        except TokenRefused:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(tried, range(100))) == 1


def test_calls_are_limited_by_rate(made: SessionTokens, clock: Clock) -> None:
    """A burst at once, then as many as time allows."""
    token = made.mint(HOLDER)
    made.begin(token, HOLDER)
    for _ in range(int(tokens.BURST)):
        made.check(token, HOLDER)

    with pytest.raises(TokenRefused, match="Too many calls"):
        made.check(token, HOLDER)
    clock.now += 1 / tokens.RATE + 0.001
    made.check(token, HOLDER)
    with pytest.raises(TokenRefused):
        made.check(token, HOLDER)


def test_after_completion_nothing_is_accepted(made: SessionTokens) -> None:
    """Invalid after use; and before it began it passes no call."""
    early, token = made.mint(HOLDER), made.mint(HOLDER)
    with pytest.raises(TokenRefused):
        made.check(early, HOLDER)
    made.begin(token, HOLDER)
    made.end(token)

    assert refusal(made, token) == "Token unknown"
    with pytest.raises(TokenRefused):
        made.check(token, HOLDER)


def test_what_expired_long_ago_is_not_kept(made: SessionTokens, clock: Clock) -> None:
    """Memory is bounded by what may still be pending; and never contains a token itself."""
    token = made.mint(HOLDER)
    clock.now += 86400 * 2
    made.mint(HOLDER)

    assert len(made) == 1
    assert token not in repr(vars(made))
