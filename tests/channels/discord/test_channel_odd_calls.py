"""Handle any answer of Discord to a call: it is reported, nothing is lost, no traceback."""

from collections.abc import AsyncIterator
from typing import ClassVar

import pytest

from channels.cards.build import build_outcome, build_prompt
from core.model.identity import Target
from tests.channels.discord.guild import ANA, DiscordGuild, channel_for
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.odd_calls import (
    OddCall,
    OddCallsContract,
    post,
    posted_to,
    press,
    resume,
    start,
    thread_in,
    update,
)
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL, GUILD, THREAD
from tests.emulators.discord_rest import ROUTES

_UNKNOWN = 720_000_000_000_000_001
_SLOW_S = 1.3
"""Seconds after which a press is acknowledged before it is answered."""


async def start_with_commands(at: OddCall) -> bool:
    """Start, and register the slash commands."""
    assert isinstance(at.setup, DiscordGuild)
    await start(at)
    return bool(at.setup.server.state.commands)


async def update_in_archive(at: OddCall) -> bool:
    """Bring a prompt to its final state in a thread that must be woken for it."""
    assert isinstance(at.setup, DiscordGuild)
    thread, state = Target("discord", str(CHANNEL), thread=str(THREAD)), at.setup.server.state
    await at.channel.start(at.inbox)
    message = await at.channel.post(thread, build_prompt(approval()))
    state.archived.add(THREAD)
    at.begin()
    await at.channel.update(thread, message, build_outcome(approval(resolution=resolved())))
    return not state.message(THREAD, int(message))["components"]


async def type_in_unknown_channel(at: OddCall) -> bool:
    """Type where the session does not know whether the place is a thread: it counts in time."""
    assert isinstance(at.setup, DiscordGuild)
    server = at.setup.server
    await at.channel.start(at.inbox)
    server.state.guilds[GUILD].append(_UNKNOWN)
    at.begin()
    await server.say(_UNKNOWN, ANA, f"<@{BOT}> approve 7k3f9q once")
    await at.inbox.take(seconds=6)
    return False


async def press_slowly(at: OddCall) -> bool:
    """Press where the decision takes longer than Discord waits for a first answer."""
    at.inbox.delay = _SLOW_S
    return await press(at)


async def press_for_long_reply(at: OddCall) -> bool:
    """Press where the reply takes several notes."""
    at.inbox.reply = "Allowed once. " + "0123456789" * 300
    await press(at)
    return False


async def press_redelivered(at: OddCall) -> bool:
    """Deliver a press again that has its reply: its first answer is looked up."""
    assert isinstance(at.setup, DiscordGuild)
    server = at.setup.server
    await at.channel.start(at.inbox)
    message = await at.channel.post(at.setup.target, build_prompt(approval()))
    sent = await server.press(CHANNEL, int(message), ANA, "Deny")
    await at.inbox.take()
    await server.until(lambda: bool(sent.notes))
    at.begin()
    await server.redeliver(sent)
    await at.inbox.take()
    await at.until_struck()
    return False


class TestOddCalls(OddCallsContract):
    """The contract."""

    first = ("getMe", "getApplication", "getGateway")
    proved = ("getMe", "getApplication", "getUser", "getGuild")
    people = (str(ANA),)
    posted, edited = "createMessage", "editMessage"
    uses: ClassVar = {
        "getCommands": start_with_commands,
        "putCommands": start_with_commands,
        "createMessage": post,
        "createDm": posted_to(Target("discord", f"user:{ANA}")),
        "editMessage": update,
        "getMessages": resume,
        "createThread": thread_in(Target("discord", str(CHANNEL))),
        "getChannel": thread_in(Target("discord", str(CHANNEL))),
        "getChannel: archived": update_in_archive,
        "getChannel: whose thread": type_in_unknown_channel,
        "editChannel": update_in_archive,
        "callback": press,
        "editOriginal": press_slowly,
        "getOriginal": press_redelivered,
        "followup": press_for_long_reply,
    }
    offered: ClassVar = {name for _, _, name, _ in ROUTES}

    @pytest.fixture
    async def setup(self, server: DiscordServer) -> AsyncIterator[DiscordGuild]:
        """Return a bot that is told its server, where a prompt posted again is a second one."""
        server.state.nonce_seconds = 0
        made = DiscordGuild(server, channel_for(server, guilds=[str(GUILD)]))
        yield made
        await made.channel.stop()
