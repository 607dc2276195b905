"""Measure what users start: no process here is forked from one that has loaded the product."""

from collections.abc import Iterator

import pytest

from tests.support import product_process


@pytest.fixture(autouse=True, scope="module")
def _real_starts() -> Iterator[None]:
    """Start everything by exec."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product_process, "MODULES", frozenset())
        yield
