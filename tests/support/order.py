"""Run the longest first, in each worker's share: else one worker ends long after the others.

pytest-xdist's ``worksteal`` gives each worker one stretch of the list and lets idle ones steal from
the end of another's. Short tests left at the end are easily shared out; a long one is not.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import TypeVar

import pytest

T = TypeVar("T")


def long_first(
    tests: Sequence[T], group_of: Callable[[T], Hashable | None], workers: int
) -> list[T]:
    """Deal out the long tests to as many equal stretches as there are workers.

    Those of one group stay together; a short test has none.
    """
    groups, short = dict[Hashable, list[T]](), list[T]()
    for test in tests:
        group = group_of(test)
        (short if group is None else groups.setdefault(group, [])).append(test)
    dealt, left = list(groups.values()), iter(short)
    ordered: list[T] = []
    for worker in range(workers):
        end = (worker + 1) * len(tests) // workers
        ordered += [test for group in dealt[worker::workers] for test in group]
        ordered += islice(left, max(0, end - len(ordered)))
    return ordered + list(left)


def group_of(item: pytest.Item) -> str | None:
    """Return the group of a long test: its module, if that keeps something for all of its tests.

    What it keeps, a built image or a browser, would be made by each worker that runs one of them.
    """
    if item.get_closest_marker("slow") is None:
        return None
    known = getattr(item, "_fixtureinfo", None)
    found = known.name2fixturedefs.values() if known is not None else ()
    shared = any(one.scope == "module" for defined in found for one in defined)
    return item.nodeid.partition("::")[0] if shared else item.nodeid
