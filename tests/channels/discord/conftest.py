"""Give every Discord test a server, and Ana in a channel of it."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.discord.guild import DiscordGuild, channel_for
from tests.emulators.discord import DiscordServer


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    """Run Discord on loopback."""
    async with DiscordServer() as running:
        yield running


@pytest.fixture
async def setup(server: DiscordServer) -> AsyncIterator[DiscordGuild]:
    """Return a bot and Ana in a server's channel."""
    made = DiscordGuild(server, channel_for(server))
    yield made
    await made.channel.stop()
