"""Keep answers at Telegram until they are committed."""

import asyncio

from telegram.error import TelegramError

from channels.base import Channel
from channels.cards.build import build_prompt
from channels.commands import Approve
from channels.telegram.channel import TelegramChannel
from core.model.approval import ApprovalReply
from tests.channels.telegram.bot_and_user import ANA, CHAT, TelegramUsers, channel_for
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox
from tests.emulators.telegram import TelegramServer


async def test_an_update_is_confirmed_only_after_the_commit(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """While the inbox works, the press is still at the platform: a kill loses nothing."""
    inbox.held = asyncio.Event()
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)
    await inbox.entered.wait()
    await asyncio.sleep(0.3)

    assert inbox.got == []
    assert len(setup.server.state.updates) == 1

    inbox.held.set()
    await inbox.take()
    await setup.server.until(lambda: setup.server.state.updates == [])
    await setup.channel.stop()


async def test_a_gateway_that_dies_in_between_gets_the_press_again(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Negative control: with a plain queue the update is confirmed before it is handled."""
    hanging = RecordingInbox(delay=3_600)
    await setup.channel.start(hanging)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)
    await setup.server.until(lambda: setup.server.count("getUpdates") > 0)

    successor = channel_for(setup.server)  # the older poll ends with 409, as after a kill
    await successor.start(inbox)
    (inbound,) = await inbox.take()
    await successor.stop()

    assert inbound.command == Approve(ID, ApprovalReply.ALLOW_ONCE)
    assert hanging.got == []
    await _abandon(setup.channel)


async def test_the_library_alone_would_have_lost_it(server: TelegramServer) -> None:
    """Negative control: with a plain queue the update is confirmed before it is handled."""
    channel = channel_for(server)
    inbox = RecordingInbox(delay=3_600)
    await channel.start(inbox)
    assert channel._app is not None
    assert channel._app.updater is not None
    channel._app.updater.update_queue = asyncio.Queue()
    await server.say(CHAT, ANA, "/pending")

    await server.until(lambda: server.state.updates == [])

    assert inbox.got == []
    await channel.stop()


async def test_a_failing_store_keeps_the_press_and_is_asked_again(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """As often as the store fails, the answer is sent again, and each is taken once."""
    inbox.failures = [BROKEN_STORE]
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)
    await setup.type("/pending")

    await inbox.take(2)
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.server.until(lambda: setup.server.state.updates == [])
    await setup.channel.stop()

    assert len(inbox.got) == 2


async def test_a_fault_of_ours_never_blocks_the_next_answer(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """An update that always breaks the inbox is given up, and its person is told."""
    inbox.failures = [KeyError("ours")] * 3
    await setup.channel.start(inbox)
    await setup.type("/approve 7K3F9Q deny")
    await setup.type("/pending")

    await inbox.take(seconds=30)
    await setup.sees("Internal error: this answer was not recorded and changed nothing")
    await setup.channel.stop()

    assert len(inbox.got) == 1


async def test_a_slow_commit_ends_the_wait_at_the_button_and_is_told_in_the_chat(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The button is acknowledged without a word; success is said after the commit."""
    inbox.delay = 2.3
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)
    (press,) = setup.server.state.presses.values()
    await setup.server.until(lambda: press.answered)
    assert press.text == ""
    assert inbox.got == []

    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()


async def test_a_query_that_is_too_old_is_told_in_the_chat(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """After an outage the platform takes no answer to the press; the decision counts."""
    setup.server.state.query_seconds = 0
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)

    await inbox.take()
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()


async def _abandon(channel: Channel) -> None:
    """End what a killed gateway would have left to its kernel."""
    assert isinstance(channel, TelegramChannel)
    app = channel._app
    assert app is not None
    assert app.updater is not None
    fetcher = [task for task in asyncio.all_tasks() if "update_fetcher" in repr(task.get_coro())]
    receivers = [task for task in asyncio.all_tasks() if "receive" in repr(task.get_coro())]
    for task in receivers:
        task.cancel()
    try:
        await channel.stop()
    except (asyncio.CancelledError, TelegramError):
        for task in fetcher:
            task.cancel()
