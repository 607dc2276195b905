"""Give every Discord test a server, and Ana in a channel of it."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.discord.world import DiscordWorld, channel_for
from tests.emulators.discord import DiscordServer


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    """Run Discord on loopback."""
    async with DiscordServer() as running:
        yield running


@pytest.fixture
async def world(server: DiscordServer) -> AsyncIterator[DiscordWorld]:
    """Return a bot and Ana in a server's channel."""
    made = DiscordWorld(server, channel_for(server))
    yield made
    await made.channel.stop()
