"""Limit how often a process may ask, and do not keep others from asking."""

from core.companion.limits import _MOST_PROCESSES, BURST, RateLimit


def test_a_burst_is_taken_and_then_the_rate() -> None:
    """After the burst a process waits a tenth of a second for each further request."""
    limit = RateLimit()

    assert [True] * BURST + [False] == [limit.take(1, 0.0) for _ in range(BURST + 1)]
    assert [True, False] == [limit.take(1, 0.1), limit.take(1, 0.1)]
    assert limit.take(1, 1_000.0)


def test_another_process_is_not_held_back() -> None:
    """Each process has its own bucket."""
    limit = RateLimit()
    while limit.take(1, 0.0):
        pass

    assert limit.take(2, 0.0)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    """Time that does not pass fills no bucket."""
    limit = RateLimit(burst=1)

    assert [True, False] == [limit.take(1, 10.0), limit.take(1, 0.0)]


def test_memory_is_bounded() -> None:
    """Of very many processes the oldest are forgotten."""
    limit = RateLimit()
    for pid in range(2 * _MOST_PROCESSES):
        limit.take(pid, 0.0)

    assert _MOST_PROCESSES == len(limit._left)
