"""Handle what the platform refuses, loses and delays."""

import asyncio
import gc
import logging
import time

import pytest

from channels.cards.build import build_prompt
from channels.cards.card import NoticeCard
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.telegram.bot_and_user import ANA, CHAT, TelegramUsers, channel_for
from tests.contracts.channel_examples import OTHER_ID, approval
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer
from tests.support.ports import free_port


async def test_start_during_an_outage_connects_once_it_is_over(inbox: RecordingInbox) -> None:
    """The gateway starts without Telegram; health reports it, and presses work later."""
    async with TelegramServer(port=free_port()) as first:
        port = first.port
    channel = channel_for(first)
    started = time.monotonic()
    await channel.start(inbox)
    assert time.monotonic() - started < 6
    assert "cannot be reached" in (await channel.check()).detail
    with pytest.raises(ChannelError) as raised:
        await channel.post(Target("telegram", str(CHAT)), build_prompt(approval()))
    assert raised.value.retry_after_ms == 1_000

    async with TelegramServer(port=port) as server:
        await server.say(CHAT, ANA, "/pending")
        await inbox.take(seconds=20)
        assert (await channel.check()).ok
        await channel.stop()


async def test_an_outage_while_polling_shows_in_health_and_heals(inbox: RecordingInbox) -> None:
    """Polling continues on its own when the platform is back."""
    async with TelegramServer(port=free_port()) as first:
        channel = channel_for(first)
        await channel.start(inbox)
        port = first.port
    async with asyncio.timeout(20):
        while (await channel.check()).ok:
            await asyncio.sleep(0.05)

    async with TelegramServer(port=port) as second:
        await second.say(CHAT, ANA, "/pending")
        await inbox.take(seconds=20)
        assert (await channel.check()).ok
        await channel.stop()


async def test_a_second_poller_shows_in_health(setup: TelegramUsers, inbox: RecordingInbox) -> None:
    """Two gateways on one bot are reported, with what to do."""
    await setup.channel.start(inbox)
    await setup.server.until(lambda: setup.server._poll is not None)
    setup.server.faults.add(Fault(FaultKind.STATUS, "getUpdates", 409), 50)
    await setup.server.say(CHAT, ANA, "wake the open poll")
    await setup.server.until(lambda: any(call.status == 409 for call in setup.server.calls))
    async with asyncio.timeout(20):
        while (health := await setup.channel.check()).ok:
            await asyncio.sleep(0.05)
    await setup.channel.stop()

    assert not health.ok
    assert "Another program is polling" in health.detail


async def test_a_refused_token_is_told_and_polling_survives_a_wrong_401(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The library would stop polling for good at a 401; the channel continues."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "getUpdates", 401))
    await setup.type("talk that ends the open poll")
    await setup.server.until(lambda: any(call.status == 401 for call in setup.server.calls))
    await setup.type("/pending")

    await inbox.take()
    assert (await setup.channel.check()).ok
    await setup.channel.stop()


async def test_a_wrong_token_is_permanent_and_never_named(
    server: TelegramServer, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong token shows in health; neither logs nor errors repeat it."""
    caplog.set_level(logging.DEBUG)
    token = "987654321:AAwrong-token-that-nobody-may-see-0001"
    channel = channel_for(server, token)
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert "rejected the bot token" in health.detail
    assert token.partition(":")[2] not in caplog.text + health.detail + repr(channel.__dict__)


@pytest.mark.parametrize(
    ("chat", "words"),
    [(404, "Chat not found"), (403, "must press Start")],
)
async def test_a_place_that_cannot_be_written_is_permanent(
    setup: TelegramUsers, inbox: RecordingInbox, chat: int, words: str
) -> None:
    """Unknown chats and people who never pressed Start are not retried."""
    setup.server.state.missing.add(404)
    setup.server.state.blocked.add(403)
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await setup.channel.post(Target("telegram", str(chat)), build_prompt(approval()))
    await setup.channel.stop()

    assert raised.value.permanent


async def test_a_long_flood_wait_is_the_outboxs_to_schedule(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """429 with a long wait is raised at once, and other chats are not delayed."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "sendMessage", 429, retry_after=30))
    started = time.monotonic()
    with pytest.raises(ChannelError) as raised:
        await setup.channel.post(setup.target, build_prompt(approval()))
    with pytest.raises(ChannelError) as again:
        await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.post(Target("telegram", "200"), build_prompt(approval(id=OTHER_ID)))
    await setup.channel.stop()

    assert raised.value.retry_after_ms == 30_000
    assert not raised.value.permanent
    assert 25_000 < (again.value.retry_after_ms or 0) <= 30_000
    assert time.monotonic() - started < 2
    assert setup.server.count("sendMessage") == 1


async def test_a_short_flood_wait_is_slept_through(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """429 with one second is repeated by the channel itself."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "sendMessage", 429, retry_after=1))
    started = time.monotonic()
    await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()

    assert 1 <= time.monotonic() - started < 3


@pytest.mark.parametrize("status", [500, 502])
async def test_a_server_error_is_for_later(
    setup: TelegramUsers, inbox: RecordingInbox, status: int
) -> None:
    """5xx is neither permanent nor repeated blindly."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "sendMessage", status))
    with pytest.raises(ChannelError) as raised:
        await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()

    assert not raised.value.permanent


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.LOSE])
async def test_a_dropped_connection_is_for_later(
    setup: TelegramUsers, inbox: RecordingInbox, kind: FaultKind
) -> None:
    """A connection that dies before or after the message was accepted raises, not hangs."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(kind, "sendMessage"))
    with pytest.raises(ChannelError, match="cannot be reached") as raised:
        await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()

    assert not raised.value.permanent


async def test_a_chat_gets_a_burst_and_then_one_message_a_second(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The fifth of five notices to one chat waits."""
    await setup.channel.start(inbox)
    started = time.monotonic()
    notice = NoticeCard(redact("Half time passed"))
    await asyncio.gather(*(setup.channel.notify(setup.target, notice) for _ in range(5)))
    took = time.monotonic() - started
    await setup.channel.stop()

    assert 0.9 < took < 4


async def test_a_stop_as_a_poll_fails_logs_no_traceback(
    server: TelegramServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The library forgets the poll, whose update could not be stored, if both end in one turn."""
    await server.say(CHAT, ANA, "/pending")
    for turns in range(16):
        inbox = RecordingInbox(failures=[BROKEN_STORE], held=asyncio.Event())
        channel = channel_for(server)
        await channel.start(inbox)
        await inbox.entered.wait()
        assert inbox.held is not None
        inbox.held.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        await channel.stop()
    gc.collect()

    assert "waiting at Telegram" in caplog.text
    assert "never retrieved" not in caplog.text
