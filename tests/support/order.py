"""Run the longest first, in each worker's share: else one worker ends long after the others.

pytest-xdist's ``worksteal`` gives each worker one stretch of the list and lets idle ones steal from
the end of another's. Short tests left at the end are easily shared out; a long one is not.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def long_first(tests: Sequence[T], is_long: Callable[[T], bool], workers: int) -> list[T]:
    """Deal out the long tests to as many equal stretches as there are workers."""
    long = [test for test in tests if is_long(test)]
    short = iter([test for test in tests if not is_long(test)])
    ordered: list[T] = []
    for worker in range(workers):
        end = (worker + 1) * len(tests) // workers
        ordered += long[worker::workers]
        ordered += islice(short, max(0, end - len(ordered)))
    return ordered + list(short)
