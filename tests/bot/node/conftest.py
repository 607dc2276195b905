"""Give tests a node that is paired with a gateway's host."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.store import Store, open_store
from tests.support.node_bench import Bench, node_bench


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield a store in a file."""
    opened = await open_store(f"sqlite:///{tmp_path}/state.db")
    yield opened
    await opened.close()


@pytest.fixture
async def bench(tmp_path: Path, store: Store) -> AsyncIterator[Bench]:
    """Yield a gateway's host with a paired node that may run everything."""
    async with node_bench(tmp_path, store) as made:
        yield made
