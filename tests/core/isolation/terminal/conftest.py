"""One installed executor for all tests of a module."""

from collections.abc import Iterator

import pytest

from tests.support.executors import installed


@pytest.fixture(scope="module")
def path() -> Iterator[str]:
    """Yield the executor's file."""
    with installed() as made:
        yield made
