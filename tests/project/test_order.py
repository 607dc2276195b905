"""The long tests come first in each worker's share, and no test is lost."""

from itertools import pairwise

import pytest

from tests.support.order import group_of, long_first
from tests.support.tables import rows


@rows("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("long", [set(), {0}, {3, 4, 5, 19}, set(range(20))])
def test_each_share_begins_with_its_long_tests(workers: int, long: set[int]) -> None:
    """As pytest-xdist deals them: one stretch per worker; each has its part of the long ones."""
    tests = list(range(20))

    ordered = long_first(tests, lambda test: test if test in long else None, workers)

    ends = [worker * len(tests) // workers for worker in range(workers + 1)]
    shares = [ordered[begin:end] for begin, end in pairwise(ends)]
    marks = [[test in long for test in share] for share in shares]
    assert sorted(ordered) == tests
    assert all(mark == sorted(mark, reverse=True) for mark in marks)
    assert max(map(sum, marks)) - min(map(sum, marks)) <= 1


def test_a_group_stays_in_one_share() -> None:
    """What its tests share is made once; the others are dealt out around it."""
    tests = ["a1", "b", "a2", "c", "a3", "d", "e", "f"]

    ordered = long_first(tests, lambda test: test[0] if test[0] in "abc" else None, 2)

    assert ordered == ["a1", "a2", "a3", "c", "b", "d", "e", "f"]


def test_more_long_tests_than_a_share_holds_lose_none() -> None:
    """If almost everything is long, the shares are not even, but complete."""
    assert set("abc") == set(long_first("abc", str, 2))


@pytest.fixture(scope="module")
def kept() -> None:
    """Something that all tests of a module share."""


@pytest.mark.slow
def test_a_module_with_something_to_share_is_one_group(
    request: pytest.FixtureRequest, kept: None
) -> None:
    """The control: this test is long and uses it."""
    assert group_of(request.node) == "tests/project/test_order.py"


@pytest.mark.slow
def test_a_long_test_that_shares_nothing_is_a_group(request: pytest.FixtureRequest) -> None:
    """It may run anywhere."""
    assert group_of(request.node) == request.node.nodeid


def test_a_short_test_is_in_no_group(request: pytest.FixtureRequest) -> None:
    """It is left where it is."""
    assert group_of(request.node) is None
