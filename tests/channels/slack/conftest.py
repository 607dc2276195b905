"""Run a workspace for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.slack.workspace import SlackWorkspace, channel_for
from tests.emulators.slack import SlackServer


@pytest.fixture
async def server() -> AsyncIterator[SlackServer]:
    """Run a workspace."""
    async with SlackServer() as running:
        yield running


@pytest.fixture
async def setup(server: SlackServer) -> AsyncIterator[SlackWorkspace]:
    """Yield an app and Ana in its channel; stop what a failing test left running."""
    made = SlackWorkspace(server, channel_for(server))
    yield made
    await made.channel.stop()
