"""Use topics for sessions, and set the menu of commands."""

import logging

import pytest

from channels.base import Threads
from channels.cards.build import build_outcome, build_prompt
from channels.commands import SLASH_COMMANDS
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.telegram.bot_and_user import CHAT, GROUP, TelegramUsers
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram_rules import utf16

PLACE = Target("telegram", str(GROUP))


async def test_a_session_gets_a_topic_of_its_own(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Prompts go there, and what is typed there comes from there."""
    setup.server.state.forums[GROUP] = {}
    channel = setup.channel
    assert isinstance(channel, Threads)
    await channel.start(inbox)
    topic = await channel.open_thread(PLACE, redact("agent:main · \U0001f600" * 30))
    message = await channel.post(topic, build_prompt(approval()))
    extra = {"message_thread_id": int(topic.thread), "is_topic_message": True}
    await setup.server.say(GROUP, 42, "/pending", **extra)
    (inbound,) = await inbox.take()
    await channel.update(topic, message, build_outcome(approval(resolution=resolved())))
    await channel.stop()

    assert topic == inbound.place
    (title,) = setup.server.state.forums[GROUP].values()
    assert 100 < utf16(title) <= 128
    shown = setup.server.state.message(GROUP, int(message))
    assert int(topic.thread) == shown["message_thread_id"]


@pytest.mark.parametrize(
    ("place", "words"),
    [(PLACE, "Turn on Topics"), (Target("telegram", str(CHAT)), "Turn on Topics")],
    ids=["group", "private"],
)
async def test_a_place_without_topics_is_permanent(
    setup: TelegramUsers, inbox: RecordingInbox, place: Target, words: str
) -> None:
    """The error says what to do, and the outbox does not try again."""
    channel = setup.channel
    assert isinstance(channel, Threads)
    await channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await channel.open_thread(place, redact("main"))
    await channel.stop()

    assert raised.value.permanent


async def test_a_bot_that_may_not_manage_topics_is_told(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Telegram's refusal becomes the right to grant."""
    words = "Bad Request: not enough rights to create a topic"
    setup.server.faults.add(Fault(FaultKind.STATUS, "createForumTopic", 400, words=words))
    channel = setup.channel
    assert isinstance(channel, Threads)
    await channel.start(inbox)
    with pytest.raises(ChannelError, match="group administrator who can manage") as raised:
        await channel.open_thread(PLACE, redact("main"))
    await channel.stop()

    assert raised.value.permanent


async def test_a_topic_that_is_gone_is_permanent(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """No one waits for a topic that was deleted."""
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match="topic is gone") as raised:
        await setup.channel.post(
            Target("telegram", str(GROUP), thread="9"), build_prompt(approval())
        )
    await setup.channel.stop()

    assert raised.value.permanent


async def test_the_menu_shows_every_command(setup: TelegramUsers, inbox: RecordingInbox) -> None:
    """Clients list them under the bot's menu."""
    await setup.channel.start(inbox)
    await setup.server.until(lambda: setup.server.count("setMyCommands") == 1)
    await setup.channel.stop()

    expected = [(command.name, command.description) for command in SLASH_COMMANDS]
    menu = [(one["command"], one["description"]) for one in setup.server.state.commands]
    assert expected == menu


async def test_without_the_menu_everything_else_works(
    setup: TelegramUsers, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A menu that cannot be set is a warning."""
    caplog.set_level(logging.WARNING)
    setup.server.faults.add(Fault(FaultKind.STATUS, "setMyCommands", 400))
    await setup.channel.start(inbox)
    await setup.server.until(
        lambda: any(call.method == "setMyCommands" for call in setup.server.calls)
    )
    await setup.type("/pending")
    await inbox.take()
    assert (await setup.channel.check()).ok
    await setup.channel.stop()

    assert "Cannot set the command menu" in caplog.text
