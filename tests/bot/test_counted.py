"""One of something is not written as several."""

import pytest

from bot.counted import counted


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, ("record",), "0 records"),
        (1, ("record",), "1 record"),
        (2, ("record",), "2 records"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
    ],
)
def test_the_noun_agrees_with_its_number(number: int, noun: tuple[str, ...], said: str) -> None:
    """Only one is one."""
    assert counted(number, *noun) == said
