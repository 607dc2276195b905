"""Spans of time on a command line are a number and a unit, and nothing else."""

import pytest

from bot.cli.arg_types import span_of
from tests.support.tables import rows


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("30m", 1_800), ("12h", 43_200), ("7d", 604_800), ("1w", 604_800)],
)
def test_a_number_with_a_unit_is_a_span(text: str, seconds: int) -> None:
    """Seconds, minutes, hours, days, weeks."""
    assert span_of(text) == seconds


@rows("text", ["", "d", "7", "0d", "07d", "-7d", "7.5d", "7 d", "7D", "7d ", "٣d", "1234567890d"])
def test_anything_else_is_none(text: str) -> None:
    """No sign, no fraction, no leading zero, no other digits."""
    assert span_of(text) is None
