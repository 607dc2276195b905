"""Take updates that Telegram delivers: the contract again, and what a webhook adds."""

import asyncio
import json
from datetime import UTC, datetime

import aiohttp
import pytest
from telegram import WebhookInfo

from channels.cards.build import build_prompt
from channels.commands import Approve
from channels.telegram.channel import TelegramChannel
from channels.telegram.webhook import delivery_problem
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.channels.telegram.bot_and_user import (
    ANA,
    CHAT,
    GROUP,
    SECRET,
    TelegramUsers,
    channel_for,
    webhook_channel_for,
)
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import BROKEN_STORE, ChannelSetup, RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer
from tests.emulators.telegram_delivery import SECRET_HEADER
from tests.support.ports import free_port


@pytest.fixture
def setup(server: TelegramServer) -> TelegramUsers:
    """Return a bot behind a webhook and Ana's private chat with it."""
    return TelegramUsers(server, webhook_channel_for(server))


class TestWebhook(ChannelContract):
    """The contract, with updates delivered to us."""

    def thread_parent(self, setup: ChannelSetup) -> Target:
        """Return a group with topics."""
        assert isinstance(setup, TelegramUsers)
        setup.server.state.forums[GROUP] = {}
        return Target("telegram", str(GROUP))


async def test_the_webhook_is_set_with_its_secret_and_drops_nothing(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Only what we take is requested, and what waits is kept."""
    await setup.channel.start(inbox)
    await setup.channel.stop()

    (call,) = [one for one in setup.server.calls if one.method == "setWebhook"]
    assert SECRET == call.parameters["secret_token"]
    assert ["message", "callback_query"] == json.loads(call.parameters["allowed_updates"])
    assert "true" != call.parameters.get("drop_pending_updates")


async def test_stop_leaves_the_webhook_so_that_updates_wait(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Telegram keeps trying while no one listens, and the next start gets it at once."""
    await setup.channel.start(inbox)
    await setup.channel.stop()
    await setup.type("/pending")
    await setup.server.until(lambda: len(setup.server.delivery.attempts) == 1)
    await setup.server.until(lambda: bool(setup.server.state.webhook.error))

    assert setup.server.state.webhook.url.endswith("/telegram/updates")
    assert 0 == setup.server.count("deleteWebhook")
    await setup.channel.start(inbox)
    await inbox.take()
    await setup.server.until(lambda: setup.server.state.updates == [])
    await setup.channel.stop()


@pytest.mark.parametrize("given", [None, "", "wrong", SECRET[:-1], SECRET + "x", "ä"])
async def test_a_request_without_the_secret_is_refused(
    setup: TelegramUsers, inbox: RecordingInbox, given: str | None
) -> None:
    """Knowing the URL alone allows no answer."""
    await setup.channel.start(inbox)
    url = setup.server.state.webhook.url
    headers = {} if given is None else {SECRET_HEADER: given}
    forged = {"update_id": 1, "message": setup.server.state.say(CHAT, ANA, "/pending")}
    async with aiohttp.ClientSession() as session:
        for body in (forged, {}):
            async with session.post(url, json=body, headers=headers) as answer:
                assert 403 == answer.status
    await setup.channel.stop()

    assert not [one for one in inbox.got if one.key.endswith(":1")]


DEEP = [(b"[", b"]"), (b'{"message":', b"}"), (b'{"reply_to_message":', b"}")]
"""What a text is nested with."""


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"\xff", b'{"update_id": null}', b'"x"', b'{"update_id": 1, "message": 7}']
    + [b'{"update_id": 1, "message": %s}' % (mark * 2_000 + end * 2_000) for mark, end in DEEP],
)
async def test_a_body_that_is_no_update_is_refused(
    setup: TelegramUsers, inbox: RecordingInbox, body: bytes
) -> None:
    """It is answered with 400 and stops nothing."""
    await setup.channel.start(inbox)
    async with aiohttp.ClientSession() as session:
        headers = {SECRET_HEADER: SECRET, "Content-Type": "application/json"}
        url = setup.server.state.webhook.url
        async with session.post(url, data=body, headers=headers) as answer:
            assert 400 == answer.status
    await setup.type("/pending")
    await inbox.take()
    await setup.channel.stop()


async def test_a_press_is_confirmed_only_after_the_commit(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """While the inbox works, the press is still at Telegram."""
    inbox.held = asyncio.Event()
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)
    await inbox.entered.wait()
    await asyncio.sleep(0.2)
    assert ([], 1) == (inbox.got, len(setup.server.state.updates))

    inbox.held.set()
    (inbound,) = await inbox.take()
    await setup.server.until(lambda: setup.server.state.updates == [])
    await setup.channel.stop()
    assert Approve(ID, ApprovalReply.DENY) == inbound.command


async def test_a_failing_store_lets_telegram_send_again(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """As often as the store fails the delivery is refused; then the answer counts once."""
    inbox.failures = [BROKEN_STORE] * 3
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)

    await inbox.take()
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.server.until(lambda: setup.server.state.updates == [])
    await setup.channel.stop()

    assert [4] == list(setup.server.delivery.attempts.values())
    assert 1 == len(inbox.got)


async def test_an_update_that_is_sent_twice_is_handled_once(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Telegram sends again what it thinks was not accepted."""
    await setup.channel.start(inbox)
    await setup.type("/pending")
    (update,) = setup.server.state.updates
    await inbox.take()
    await setup.server.until(lambda: setup.server.state.updates == [])
    async with aiohttp.ClientSession() as session:
        headers = {SECRET_HEADER: SECRET}
        url = setup.server.state.webhook.url
        async with session.post(url, json=update, headers=headers) as answer:
            assert 200 == answer.status
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()

    assert 1 == setup.server.count("sendMessage")


async def test_stop_lets_the_press_in_hand_be_committed(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """What Telegram delivered before the stop is handled and confirmed."""
    inbox.delay = 0.4
    await setup.channel.start(inbox)
    await setup.type("/pending")
    await inbox.entered.wait()
    await setup.channel.stop()

    assert 1 == len(inbox.got)
    await setup.server.until(lambda: setup.server.state.updates == [])


async def test_a_webhook_of_somebody_else_shows_in_health(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Each of two programs on one token is told of the other here, too."""
    await setup.channel.start(inbox)
    assert (await setup.channel.check()).detail == "listening as @sayso_test_bot (mode webhook)"
    setup.server.state.webhook.url = "https://other.example/"

    health = await setup.channel.check()
    await setup.channel.stop()

    assert not health.ok
    assert "another address" in health.detail


async def test_deliveries_that_fail_show_in_health(
    server: TelegramServer, inbox: RecordingInbox
) -> None:
    """A proxy that does not reach us is reported in Telegram's words."""
    webhook = {
        "url": f"http://127.0.0.1:{free_port()}/nobody",
        "listen": f"127.0.0.1:{free_port()}",
        "secret": SECRET,
    }
    channel = channel_for(server, mode="webhook", webhook=webhook)
    await channel.start(inbox)
    assert (await channel.check()).ok
    await asyncio.sleep(1.1)  # Telegram reports the time of a failure in whole seconds
    await server.say(CHAT, ANA, "/pending")
    await server.until(lambda: bool(server.state.webhook.error))

    health = await channel.check()
    await channel.stop()

    assert not health.ok
    assert "cannot deliver to webhook.url: Connection refused" in health.detail


async def test_a_port_that_is_taken_is_told(server: TelegramServer, inbox: RecordingInbox) -> None:
    """The address to change is named."""
    listen = f"127.0.0.1:{server.port}"
    webhook = {"url": f"http://{listen}/x", "listen": listen, "secret": SECRET}
    channel = channel_for(server, mode="webhook", webhook=webhook)
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert f"channels.telegram.webhook.listen {listen} cannot be used" in health.detail


async def test_polling_takes_a_webhook_away_and_loses_nothing(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The mode can be changed while answers wait."""
    await setup.channel.start(inbox)
    await setup.channel.stop()
    await setup.type("/pending")
    polling = channel_for(setup.server)
    await polling.start(inbox)
    await inbox.take()
    await polling.stop()

    assert "" == setup.server.state.webhook.url


async def test_an_outage_at_the_start_is_tried_again(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The webhook is set once Telegram answers; the port is bound once."""
    setup.server.faults.add(Fault(FaultKind.STATUS, "setWebhook", 502), 2)
    await setup.channel.start(inbox)
    assert not (await setup.channel.check()).ok
    await setup.server.until(lambda: setup.server.count("setWebhook") == 1)
    await setup.type("/pending")

    await inbox.take()
    await setup.channel.stop()


async def test_neither_token_nor_secret_is_in_a_representation(setup: TelegramUsers) -> None:
    """Anything that a log might print of the channel names no secret."""
    await setup.channel.start(RecordingInbox())
    assert isinstance(setup.channel, TelegramChannel)
    shown = repr([setup.channel._transport, setup.channel._sender, setup.channel._settings])
    await setup.channel.stop()

    assert SECRET not in shown
    assert setup.server.state.token.partition(":")[2] not in shown


@pytest.mark.parametrize(
    ("waiting", "heard_at", "said"),
    [(1, 999.0, True), (1, 1000.0, False), (1, 1001.0, False), (0, 999.0, False)],
)
def test_a_delivery_that_failed_after_the_last_update_is_a_problem(
    waiting: int, heard_at: float, *, said: bool
) -> None:
    """Only while something waits, and if nothing arrived in that second or later."""
    failed = datetime.fromtimestamp(1000, UTC)
    info = WebhookInfo("https://a.example", False, waiting, failed, "timeout")

    assert ("timeout" in delivery_problem(info, heard_at)) is said
