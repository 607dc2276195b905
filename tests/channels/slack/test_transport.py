"""Let the incoming connection break and recover, and reveal no secret."""

import asyncio
import logging

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from channels.cards.build import build_prompt
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer
from tests.support.ports import free_port


async def until_down(setup: SlackWorkspace) -> None:
    """Wait until health is bad."""
    while (await setup.channel.check()).ok:
        await asyncio.sleep(0.02)


async def until_up(setup: SlackWorkspace) -> None:
    """Wait until health is good."""
    while not (await setup.channel.check()).ok:
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("how", ["abort", "close", "disconnect"])
async def test_a_lost_socket_is_connected_again(
    setup: SlackWorkspace, inbox: RecordingInbox, how: str
) -> None:
    """After each kind of end a press arrives over a new socket."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.server.delivery.hang_up(how)
    await setup.server.until(lambda: bool(setup.server.delivery.sockets))
    press = await setup.press(message, ApprovalReply.DENY)

    await inbox.take()
    await setup.channel.stop()

    assert press.acked
    assert setup.server.count("apps.connections.open") == 2


async def test_words_typed_while_the_socket_was_down_arrive(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """An event that found no socket is delivered once there is one again."""
    await setup.channel.start(inbox)
    await setup.server.delivery.hang_up("abort")
    await setup.type("approve 7K3F9Q deny")

    await inbox.take()
    await setup.channel.stop()


async def test_a_refused_ticket_does_not_keep_it_down(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The library would ask forever with a ticket that Slack no longer accepts."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "link"))
    await setup.server.delivery.hang_up("abort")
    await until_down(setup)
    await setup.server.until(lambda: bool(setup.server.delivery.sockets))
    await until_up(setup)
    await setup.channel.stop()


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
    """The gateway starts without Slack; health reports it, and answers arrive later."""
    async with SlackServer(port=free_port()) as first:
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
    setup: SlackWorkspace, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """At level DEBUG, through reconnects and refusals, no token, ticket or payload is logged."""
    caplog.set_level(logging.DEBUG)
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)
    await setup.type("/approve 7K3F9Q deny canary-of-a-note")
    setup.server.faults.add(Fault(FaultKind.STATUS, "link"))
    await setup.server.delivery.hang_up("abort")
    await until_down(setup)
    await setup.server.until(lambda: bool(setup.server.delivery.sockets))
    await setup.channel.stop()

    state = setup.server.state
    assert "Failed to connect" in caplog.text
    for secret in (state.bot_token, state.app_token, state.signing_secret, "canary-of-a-note"):
        assert secret not in caplog.text
    assert not [word for word in caplog.text.split() if "ticket=ticket" in word]
