"""The line in breaks and heals, and tells no secret."""

import asyncio
import logging

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from channels.cards import build_prompt
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer


async def until_down(world: SlackWorkspace) -> None:
    """Wait until health is bad."""
    while (await world.channel.check()).ok:
        await asyncio.sleep(0.02)


async def until_up(world: SlackWorkspace) -> None:
    """Wait until health is good."""
    while not (await world.channel.check()).ok:
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("how", ["abort", "close", "disconnect"])
async def test_a_lost_socket_is_connected_again(
    world: SlackWorkspace, inbox: RecordingInbox, how: str
) -> None:
    """After each kind of end a press comes in over a new socket."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    await world.server.delivery.hang_up(how)
    await world.server.until(lambda: bool(world.server.delivery.sockets))
    press = await world.press(message, ApprovalReply.DENY)

    await inbox.take()
    await world.channel.stop()

    assert press.acked
    assert world.server.count("apps.connections.open") == 2


async def test_words_typed_while_the_socket_was_down_arrive(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """An event that met no socket is delivered once there is one again."""
    await world.channel.start(inbox)
    await world.server.delivery.hang_up("abort")
    await world.type("approve 7K3F9Q deny")

    await inbox.take()
    await world.channel.stop()


async def test_a_refused_ticket_does_not_keep_it_down(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The library would ask for ever with a ticket that Slack no longer takes."""
    await world.channel.start(inbox)
    world.server.faults.add(Fault(FaultKind.STATUS, "link"))
    await world.server.delivery.hang_up("abort")
    await until_down(world)
    await world.server.until(lambda: bool(world.server.delivery.sockets))
    await until_up(world)
    await world.channel.stop()


async def test_the_library_alone_would_stay_down(server: SlackServer) -> None:
    """Negative control: two seconds after the same fault it still has no socket."""
    client = AsyncWebClient(token=server.state.bot_token, base_url=server.url)
    app = AsyncApp(client=client, signing_secret=server.state.signing_secret)
    handler = AsyncSocketModeHandler(app, server.state.app_token, ping_interval=0.2)
    await handler.connect_async()  # type: ignore[no-untyped-call] # the SDK's
    await server.until(lambda: bool(server.delivery.sockets))
    server.faults.add(Fault(FaultKind.STATUS, "link"))
    await server.delivery.hang_up("abort")

    await asyncio.sleep(2)

    assert server.delivery.sockets == []
    await handler.close_async()  # type: ignore[no-untyped-call] # the SDK's


async def test_start_during_an_outage_connects_once_it_is_over(inbox: RecordingInbox) -> None:
    """The gateway starts without Slack; health tells, and answers come in later."""
    async with SlackServer() as first:
        port = first.port
    channel = channel_for(first)
    await channel.start(inbox)
    assert "cannot be reached" in (await channel.check()).detail
    with pytest.raises(ChannelError) as raised:
        await channel.post(Target("slack", CHANNEL), build_prompt(approval()))
    assert raised.value.retry_after_ms == 1_000

    async with SlackServer(port=port) as server:
        await server.until(lambda: bool(server.delivery.sockets))
        await server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
        await inbox.take()
        assert (await channel.check()).ok
        await channel.stop()


@pytest.mark.parametrize("token", ["botToken", "appToken"])
async def test_a_wrong_token_shows_in_health_and_nowhere_else(
    server: SlackServer,
    inbox: RecordingInbox,
    caplog: pytest.LogCaptureFixture,
    token: str,
) -> None:
    """Health says where the right one is; neither logs nor errors repeat the wrong one."""
    caplog.set_level(logging.DEBUG)
    wrong = {"botToken": "xoxb-9-canaryOfABotToken", "appToken": "xapp-9-canaryOfAnAppToken"}
    channel = channel_for(server, **{token: wrong[token]})
    await channel.start(inbox)
    health = await channel.check()
    await channel.stop()

    assert not health.ok
    assert "Slack rejected a token (invalid_auth)" in health.detail
    assert "canary" not in caplog.text + health.detail


async def test_no_secret_reaches_the_log(
    world: SlackWorkspace, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """At level DEBUG, through reconnects and refusals, no token, ticket or payload is logged."""
    caplog.set_level(logging.DEBUG)
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    await world.press(message, ApprovalReply.DENY)
    await world.type("/approve 7K3F9Q deny canary-of-a-note")
    world.server.faults.add(Fault(FaultKind.STATUS, "link"))
    await world.server.delivery.hang_up("abort")
    await until_down(world)
    await world.server.until(lambda: bool(world.server.delivery.sockets))
    await world.channel.stop()

    state = world.server.state
    assert "Failed to connect" in caplog.text
    for secret in (state.bot_token, state.app_token, state.signing_secret, "canary-of-a-note"):
        assert secret not in caplog.text
    assert not [word for word in caplog.text.split() if "ticket=ticket" in word]
