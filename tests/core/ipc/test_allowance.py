"""Read what a peer says beyond its rate later."""

import time

from core.ipc.allowance import Allowance


def test_what_is_beyond_the_burst_is_waited_for() -> None:
    """As long as its rate takes to allow it; at most the burst is saved up."""
    allowance = Allowance(rate=1000, burst=500, message=10)
    assert allowance.take(400, 1) == 0
    wait_s = allowance.take(590, 50)
    assert 0.9 < wait_s <= 1.0
    time.sleep(wait_s)
    assert 0.4 < allowance.take(500, 0) <= 0.51
    time.sleep(1.2)
    assert allowance.take(490, 1) == 0
    assert allowance.take(100, 0) > 0
