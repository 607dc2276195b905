"""Handle any answer of Telegram to a call: it is reported, nothing is lost, no traceback."""

from typing import ClassVar

import pytest

from channels.cards.build import build_prompt
from core.model.identity import Target
from tests.channels.telegram.bot_and_user import (
    ANA,
    GROUP,
    TelegramUsers,
    webhook_channel_for,
)
from tests.contracts.channel_examples import approval, plan
from tests.contracts.odd_calls import (
    OddCall,
    OddCallsContract,
    post,
    press,
    start,
    thread_in,
    update,
)
from tests.emulators.telegram import TelegramServer
from tests.emulators.telegram_methods import PARAMETERS


async def post_file(at: OddCall) -> bool:
    """Post a command so long that its text is sent as a file."""
    await at.channel.start(at.inbox)
    at.begin()
    await at.channel.post(at.setup.target, build_prompt(approval(plan(text="x" * 30_000))))
    return False


async def open_topic(at: OddCall) -> bool:
    """Open a topic in a group that has topics."""
    assert isinstance(at.setup, TelegramUsers)
    at.setup.server.state.forums[GROUP] = {}
    return await thread_in(Target("telegram", str(GROUP)))(at)


class TestPolling(OddCallsContract):
    """The contract, where the bot asks for updates."""

    first = ("getMe", "deleteWebhook", "getUpdates")
    proved = ("getMe", "getWebhookInfo", "getChat")
    people = (str(ANA),)
    posted, edited = "sendMessage", "editMessageText"
    uses: ClassVar = {
        "sendMessage": post,
        "sendDocument": post_file,
        "editMessageText": update,
        "answerCallbackQuery": press,
        "createForumTopic": open_topic,
        "setMyCommands": start,
    }
    offered = PARAMETERS.keys() - {"setWebhook"}


class TestWebhook(OddCallsContract):
    """The contract, where Telegram delivers updates."""

    first = ("getMe", "setWebhook", "getWebhookInfo")
    proved = ("getMe", "getWebhookInfo")
    people = (str(ANA),)
    posted, edited = "sendMessage", "editMessageText"
    uses: ClassVar = {"sendMessage": post, "answerCallbackQuery": press}
    offered: ClassVar = {*first, *uses}

    @pytest.fixture
    def setup(self, server: TelegramServer) -> TelegramUsers:
        """Return a bot that listens, and Ana's private chat with it."""
        return TelegramUsers(server, webhook_channel_for(server))
