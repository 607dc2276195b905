from collections.abc import AsyncIterator

import pytest

from core.runner.runner import Runner
from tests.support.runs import running


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """Yield a started runner with the default limits."""
    async with running() as started:
        yield started
