"""Count the time that both ends of a connection use: setting a clock does not change it."""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux counts the time that a machine sleeps here only: an order must not outlive a closed lid."""


def elapsed_s() -> float:
    """Return the seconds since some moment in the past, those asleep included."""
    return time.clock_gettime(_CLOCK)
