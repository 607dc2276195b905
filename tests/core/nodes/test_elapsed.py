"""Count what both ends of a connection count by."""

import time

from core.nodes.elapsed import elapsed_s


def test_what_a_machine_sleeps_is_counted() -> None:
    """The kernel's clock for that, not the one that stands still meanwhile."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= elapsed_s() <= time.clock_gettime(time.CLOCK_BOOTTIME)
