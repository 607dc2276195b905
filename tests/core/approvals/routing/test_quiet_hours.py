"""Keep quiet hours over midnight and over the clocks' change."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from core.approvals.routing.quiet_hours import QuietHours
from tests.support.tables import rows

BERLIN = ZoneInfo("Europe/Berlin")


def _ms(utc: str) -> int:
    return round(datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp() * 1000)


@rows(
    "utc, expected",
    [
        ("2026-05-04T19:59:59.999", False),
        ("2026-05-04T20:00:00", True),
        ("2026-05-04T22:30:00", True),
        ("2026-05-05T04:59:59.999", True),
        ("2026-05-05T05:00:00", False),
        ("2026-01-04T20:30:00", False),
        ("2026-01-04T21:00:00", True),
        ("2026-01-05T05:59:59.999", True),
        ("2026-01-05T06:00:00", False),
    ],
)
def test_over_midnight_in_summer_and_winter(utc: str, expected: bool) -> None:
    """From 22:00 to 07:00 in Berlin, which is another hour of UTC in each season."""
    assert expected is QuietHours(time(22), time(7), BERLIN).hold(_ms(utc))


@pytest.mark.parametrize(
    ("utc", "expected"),
    [
        ("2026-05-04T09:59:59", False),
        ("2026-05-04T10:00:00", True),
        ("2026-05-04T11:29:59", True),
        ("2026-05-04T11:30:00", False),
    ],
)
def test_within_a_day(utc: str, expected: bool) -> None:
    """A lunch break from 12:00 to 13:30 in Berlin's summer."""
    assert expected is QuietHours(time(12), time(13, 30), BERLIN).hold(_ms(utc))


@pytest.mark.parametrize(
    ("utc", "expected"),
    [
        ("2026-03-28T21:00:00", True),
        ("2026-03-29T00:59:59", True),
        ("2026-03-29T04:59:59", True),
        ("2026-03-29T05:00:00", False),
        ("2026-10-24T20:00:00", True),
        ("2026-10-25T05:59:59", True),
        ("2026-10-25T06:00:00", False),
    ],
)
def test_nights_of_the_clocks_change(utc: str, expected: bool) -> None:
    """They end when the wall clock shows 07:00, even if an hour is missing or repeated."""
    assert expected is QuietHours(time(22), time(7), BERLIN).hold(_ms(utc))


@pytest.mark.parametrize(
    ("utc", "expected"),
    [
        ("2026-10-25T00:29:59", True),
        ("2026-10-25T00:30:00", False),
        ("2026-10-25T01:15:00", False),
        ("2026-03-29T01:29:59", True),
        ("2026-03-29T01:30:00", False),
    ],
)
def test_an_end_that_comes_twice_or_never(utc: str, expected: bool) -> None:
    """Until 02:30: the first of two, and 03:30 if the clock jumps from 02:00 to 03:00."""
    assert expected is QuietHours(time(22), time(2, 30), BERLIN).hold(_ms(utc))


def test_the_words_name_end_and_zone() -> None:
    """A requester told that no one was asked learns when someone will be."""
    words = QuietHours(time(22), time(7), BERLIN).words

    assert words == "quiet hours until 07:00 Europe/Berlin"
