"""Read the numbers of a command line, so that nobody is asked for what cannot be."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LONGEST_S = 86_400
"""One day, in seconds: no run may last longer, and nobody waits longer."""


def seconds_of(text: str) -> float | None:
    """Return a duration in seconds; ``None`` for what is no number, not above 0, or too long."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found <= LONGEST_S else None  # nan fits nowhere


def seconds(text: str) -> float:
    """Return a duration in seconds, for a parser.

    Raises:
        ArgumentTypeError: it is no number, not above 0, or longer than a day.
    """
    found = seconds_of(text)
    if found is None:
        _refuse(f"{text!r}: give seconds, more than 0 and {LONGEST_S:,} (one day) at most")
    return found


def count(text: str) -> int:
    """Return a whole number from 1 on, for a parser.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if not (text.isascii() and text.isdigit() and int(text[:9])):
        _refuse(f"{text!r}: give a whole number, 1 or more")
    return int(text[:9])


def _refuse(words: str) -> "NoReturn":
    from argparse import ArgumentTypeError  # noqa: PLC0415 - for mistakes only

    raise ArgumentTypeError(words)
