"""Run agents in executors, behind a gate."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.agents import Bench, Model, agents_at, model, workshop


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield the agents' folder."""
    with workshop() as found:
        yield found


@pytest.fixture(scope="module")
def the_model() -> Iterator[Model]:
    """Yield a model."""
    with model() as found:
        yield found


@pytest.fixture
async def bench(
    tmp_path: Path, executor_path: str, folder: Path, the_model: Model
) -> AsyncIterator[Bench]:
    """Yield agents behind a gate where everything must be asked."""
    async with agents_at(tmp_path, executor_path, folder, the_model.url) as found:
        yield found
