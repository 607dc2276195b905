"""Keep the channel contract on Discord, with the real discord.py against a local server."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.discord.guild import DiscordGuild, channel_for
from tests.contracts.channel import ChannelContract
from tests.contracts.node_notices import NodeNoticeContract
from tests.emulators.discord import DiscordServer


@pytest.fixture
async def setup(server: DiscordServer) -> AsyncIterator[DiscordGuild]:
    """Return a bot and Ana, with repeated prompts posted long after the first."""
    server.state.nonce_seconds = 0
    made = DiscordGuild(server, channel_for(server))
    yield made
    await made.channel.stop()


class TestDiscord(ChannelContract):
    """The contract; the inbox is in ``tests/channels/conftest.py``."""


class TestDiscordNodeNotices(NodeNoticeContract):
    """A node that asks to be paired, in Discord."""
