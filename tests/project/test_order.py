"""The long tests come first in each worker's share, and no test is lost."""

from itertools import pairwise

import pytest

from tests.support.order import long_first
from tests.support.tables import rows


@rows("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("long", [set(), {0}, {3, 4, 5, 19}, set(range(20))])
def test_each_share_begins_with_its_long_tests(workers: int, long: set[int]) -> None:
    """As pytest-xdist deals them: one stretch per worker; each has its part of the long ones."""
    tests = list(range(20))

    ordered = long_first(tests, long.__contains__, workers)

    ends = [worker * len(tests) // workers for worker in range(workers + 1)]
    shares = [ordered[begin:end] for begin, end in pairwise(ends)]
    marks = [[test in long for test in share] for share in shares]
    assert sorted(ordered) == tests
    assert all(mark == sorted(mark, reverse=True) for mark in marks)
    assert max(map(sum, marks)) - min(map(sum, marks)) <= 1


def test_more_long_tests_than_a_share_holds_lose_none() -> None:
    """If almost everything is long, the shares are not even, but complete."""
    assert set("abc") == set(long_first("abc", lambda _: True, 2))
