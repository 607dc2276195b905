"""Parse the numbers on a command line, refusing impossible values before anybody is asked."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LONGEST_S = 86_400
"""One day, in seconds: no run and no wait may last longer."""
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MOST_DIGITS = 9


def seconds_of(text: str) -> float | None:
    """Return a duration in seconds; ``None`` if it is not a number, not above 0, or too long."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found <= LONGEST_S else None  # nan fails both comparisons


def seconds(text: str) -> float:
    """Return a duration in seconds, for a parser.

    Raises:
        ArgumentTypeError: it is not a number, not above 0, or longer than a day.
    """
    found = seconds_of(text)
    if found is None:
        _refuse(f"{text!r} is not a number of seconds above 0, and at most {LONGEST_S:,} (one day)")
    return found


def span_of(text: str) -> int | None:
    """Return the seconds that a number with a unit means, such as ``30m``; ``None`` if none is."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdigit()):
        return None
    if number[0] == "0" or len(number) > _MOST_DIGITS:
        return None
    return int(number) * _UNITS[unit]


def span(text: str) -> int:
    """Return the seconds that a number with a unit means, for a parser.

    Raises:
        ArgumentTypeError: it is something else.
    """
    found = span_of(text)
    if found is None:
        _refuse(f"{text!r} is not a duration such as 30m or 7d (units: s, m, h, d, w)")
    return found


def count(text: str) -> int:
    """Return a whole number of at least 1, for a parser.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not (text.isascii() and text.isdigit() and int(text[:9])):
        _refuse(f"{text!r} is not a whole number of 1 or more")
    return int(text[:9])


def _refuse(words: str) -> "NoReturn":
    from argparse import ArgumentTypeError  # noqa: PLC0415 - for mistakes only

    raise ArgumentTypeError(words)
