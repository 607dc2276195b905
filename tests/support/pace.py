"""Measure how slow the machine is now, for goals in time that name no floor of their own.

Such goals are for the machine on which they were set, on a quiet day. A shared machine may take
twice as long an hour later for the same instructions; a benchmark should find slow code, not that.
"""

import json
import statistics
import time

_UNIT = {f"key{number}": [number, str(number), {"deep": number / 7}] for number in range(60)}
_TIMES = 60
_QUIET_US = 205.0
"""The time that one unit takes on that machine, in µs."""


class Pace:
    """Units of plain Python, timed between the calls that a benchmark measures.

    A shared machine changes its pace within a second, so a sample afterwards says little.
    """

    def __init__(self) -> None:
        self._units_s: list[float] = []

    def sample(self) -> None:
        """Time one unit now."""
        self._units_s.append(_one())

    def slowness(self) -> float:
        """Return how many times as long plain Python took in the median, at least 1."""
        return max(1.0, statistics.median(self._units_s) * 1e6 / _QUIET_US)


def slowness() -> float:
    """Return how many times as long plain Python takes now, at least 1."""
    return max(1.0, unit_us() / _QUIET_US)


def words(slow: float) -> str:
    """Return the line that a benchmark prints about it."""
    return f"(plain Python takes {slow:.1f} x as long as where the goals in time were set)"


def unit_us() -> float:
    """Return the median of some units of plain Python work, in µs."""
    return statistics.median(_one() for _ in range(_TIMES)) * 1e6


def _one() -> float:
    begin = time.perf_counter()
    text = json.dumps(_UNIT, sort_keys=True)
    found = json.loads(text)
    words = sorted("".join(reversed(key)) for key in found)
    sum(len(word) * place for place, word in enumerate(words))
    return time.perf_counter() - begin
