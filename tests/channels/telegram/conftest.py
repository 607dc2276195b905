"""Give every Telegram test a server and Ana's chat with the bot."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.telegram.bot_and_user import TelegramUsers, channel_for
from tests.emulators.telegram import TelegramServer


@pytest.fixture
async def server() -> AsyncIterator[TelegramServer]:
    """Run a Bot API server."""
    async with TelegramServer() as running:
        yield running


@pytest.fixture
async def setup(server: TelegramServer) -> TelegramUsers:
    """Return a bot and Ana's private chat with it."""
    return TelegramUsers(server, channel_for(server))
