"""An outage of the database is told once, and ended by what really worked after it."""

import logging

import pytest

from core.errors import StoreAway
from core.store.engine.outage import Outage

AWAY = StoreAway("refused")


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        """Return them."""
        return self.at


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


@pytest.fixture
def outage(clock: Clock, caplog: pytest.LogCaptureFixture) -> Outage:
    """Return an outage that has not begun."""
    caplog.set_level(logging.INFO)
    return Outage(clock)


def fail(outage: Outage, clock: Clock, *, lasts: float = 1.0, write: bool = True) -> None:
    """Let an operation fail after so many seconds."""
    began = clock.at
    clock.at += lasts
    outage.failed(AWAY, began, write=write)


def work(outage: Outage, clock: Clock, *, write: bool = True) -> None:
    """Let an operation work at once."""
    outage.worked(clock.at, write=write)


def test_one_line_each_and_a_count(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A hundred failures are two lines."""
    for _ in range(100):
        fail(outage, clock)
    clock.at += 1
    work(outage, clock)
    work(outage, clock)

    went, came = caplog.messages
    assert "The database is unavailable" in went
    assert "refused" in went
    assert "is available again after 100.0 s; 100 operations failed" in came


def test_what_began_before_a_failure_proves_nothing(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer that was on its way when the database went does not end the outage."""
    early = clock.at
    fail(outage, clock)
    outage.worked(early, write=True)

    assert len(caplog.messages) == 1


def test_a_late_failure_begins_no_new_outage(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """An operation that was tried again until the database was back belongs to what is over."""
    late = clock.at
    fail(outage, clock)
    clock.at += 1
    work(outage, clock)
    clock.at += 1
    outage.failed(AWAY, late, write=True)

    assert len(caplog.messages) == 2


def test_a_reading_does_not_end_an_outage_of_writes(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk that is readable may still take no writes: no line for each change of mind."""
    fail(outage, clock)
    for _ in range(5):
        clock.at += 1
        work(outage, clock, write=False)
        fail(outage, clock)
    assert len(caplog.messages) == 1
    clock.at += 1
    work(outage, clock)

    assert "6 operations failed" in caplog.messages[-1]


def test_a_stop_in_between_tells_the_count(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """What was counted is not lost with the gateway."""
    fail(outage, clock)
    outage.close()
    outage.close()

    assert [words for words in caplog.messages if "did not come back" in words] == [
        caplog.messages[-1]
    ]
