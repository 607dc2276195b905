"""Report what keeps the bot from connecting, and recover where that is possible."""

import asyncio
import gc
import logging

import pytest

from channels.base import Channel
from channels.cards.build import build_prompt
from core.errors import ChannelError
from core.model.identity import Target
from tests.channels.discord.guild import ANA, DiscordGuild, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL
from tests.support.ports import free_port


async def _healthy(channel: Channel, *, ok: bool = True) -> None:
    async with asyncio.timeout(5):
        while (await channel.check()).ok is not ok:
            await asyncio.sleep(0.02)


class TestLine:
    """Tokens, intents, endpoints, outages."""

    async def test_a_wrong_token_is_told_and_never_named(
        self, server: DiscordServer, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A refused token shows in health, posts fail for good, and no one sees the token."""
        caplog.set_level(logging.DEBUG)
        token = "NzAwMDAwMDAwMDAwMDAwMDAx.GwronG.a-token-that-nobody-may-ever-see-0001"
        channel = channel_for(server, token=token)
        await channel.start(inbox)
        health = await channel.check()
        with pytest.raises(ChannelError) as raised:
            await channel.post(Target("discord", str(CHANNEL)), build_prompt(approval()))
        await channel.stop()

        assert "rejected the bot token" in health.detail
        assert raised.value.permanent
        shown = caplog.text + health.detail + str(raised.value) + repr(channel.__dict__)
        assert "a-token-that-nobody" not in shown

    async def test_a_stop_while_connecting_leaves_nothing_behind(
        self, server: DiscordServer, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The library reports a new session after a pause, even if the client is closed then."""
        channel = channel_for(server)
        starting = asyncio.create_task(channel.start(inbox))
        async with asyncio.timeout(5):
            while not server.gateway.live:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.03)
        await channel.stop()
        await asyncio.sleep(0.2)
        gc.collect()
        await asyncio.gather(starting)

        assert [] == [one.getMessage() for one in caplog.records if one.exc_info]

    async def test_a_refused_intent_is_permanent(
        self, server: DiscordServer, inbox: RecordingInbox
    ) -> None:
        """Without the privileged intent the client says what to turn on, and does not loop."""
        channel = channel_for(server, messageContent=True)
        await channel.start(inbox)
        health = await channel.check()
        await asyncio.sleep(1.2)
        await channel.stop()

        assert "Message Content intent" in health.detail
        assert server.gateway.identifies == 1

    async def test_an_endpoint_url_that_steals_presses_is_told(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """With an interactions endpoint set, presses go elsewhere: health must say so."""
        setup.server.state.endpoint = "https://elsewhere.example"
        await setup.channel.start(inbox)

        health = await setup.channel.check()

        assert not health.ok
        assert "Interactions Endpoint URL" in health.detail

    async def test_start_during_an_outage_connects_once_it_is_over(
        self, inbox: RecordingInbox
    ) -> None:
        """The gateway starts without Discord; health reports it, and answers arrive later."""
        async with DiscordServer(port=free_port()) as first:
            port = first.port
        channel = channel_for(first)
        await channel.start(inbox)
        assert "cannot be reached" in (await channel.check()).detail
        with pytest.raises(ChannelError) as raised:
            await channel.post(Target("discord", str(CHANNEL)), build_prompt(approval()))
        assert raised.value.retry_after_ms == 1_000

        async with DiscordServer(port=port) as server:
            await server.until(lambda: bool(server.gateway.live))
            await server.say(CHANNEL, ANA, f"<@{BOT}> /pending")
            await inbox.take()
            await _healthy(channel)
            await channel.stop()

    async def test_an_outage_while_connected_shows_in_health(self, inbox: RecordingInbox) -> None:
        """Health follows the connection, not the start."""
        async with DiscordServer() as server:
            channel = channel_for(server)
            await channel.start(inbox)
            assert (await channel.check()).ok
        await _healthy(channel, ok=False)
        await channel.stop()
