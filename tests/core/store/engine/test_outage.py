"""Report an outage of the database once, and end it by what really worked after it."""

import logging

import pytest

from core.errors import StoreAway
from core.store.engine.outage import Outage

AWAY = StoreAway("refused")


class Clock:
    """Seconds, advanced by hand."""

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
    """Return an outage that has not started."""
    caplog.set_level(logging.INFO)
    return Outage(clock)


def fail(outage: Outage, clock: Clock, *, lasts: float = 1.0, write: bool = True) -> None:
    """Make an operation fail after this many seconds."""
    began = clock.at
    clock.at += lasts
    outage.failed(AWAY, began, write=write)


def work(outage: Outage, clock: Clock, *, write: bool = True) -> None:
    """Make an operation work at once."""
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
    """An answer in transit when the database went away does not end the outage."""
    early = clock.at
    fail(outage, clock)
    outage.worked(early, write=True)

    assert len(caplog.messages) == 1


def test_a_late_failure_begins_no_new_outage(
    outage: Outage, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """An operation retried until the database was back belongs to the past outage."""
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
    """A readable disk may still accept no writes: not every change of state gets a line."""
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
