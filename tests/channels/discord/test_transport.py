"""Survive sockets that die and sessions that end; no answer is lost, and health reports it."""

import asyncio
import threading
from pathlib import Path

import pytest

from channels.base import Channel
from channels.cards.build import build_prompt
from channels.commands import Approve, PendingList
from channels.discord.gateway_session import Session, SessionFile
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.channels.discord.guild import ANA, DiscordGuild, channel_for
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_gateway import DIRECT_MESSAGES, GUILD_MESSAGES, GUILDS
from tests.emulators.discord_gateway import Session as EmulatedSession
from tests.emulators.discord_objects import BOT, CHANNEL
from tests.support.waiting import until


async def _healthy(channel: Channel, *, ok: bool = True) -> None:
    async with asyncio.timeout(5):
        while (await channel.check()).ok is not ok:
            await asyncio.sleep(0.02)


def _hearts(before: set[threading.Thread]) -> list[threading.Thread]:
    """Return the heartbeat threads started since then."""
    started = [one for one in threading.enumerate() if one not in before and one.is_alive()]
    return [one for one in started if one.name.startswith("keep-alive-handler")]


class TestGateway:
    """Sockets die; sessions continue."""

    @pytest.mark.parametrize("way", ["op 7", "1001", "4000", "abort"])
    async def test_a_press_in_the_gap_is_replayed(
        self, setup: DiscordGuild, inbox: RecordingInbox, way: str
    ) -> None:
        """However the socket ends, the session is resumed and what came in between arrives."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        server = setup.server
        if way == "op 7":
            await server.gateway.order(7)
        elif way == "abort":
            await server.gateway.abort()
        else:
            await server.gateway.hang_up(int(way))
        await setup.press(message, ApprovalReply.ALLOW_ONCE)

        (inbound,) = await inbox.take()
        await server.until(lambda: bool(server.gateway.live))

        assert inbound.command == Approve(ID, ApprovalReply.ALLOW_ONCE)
        assert (server.gateway.identifies, server.gateway.resumes) == (1, 1)

    async def test_a_stop_while_a_session_begins_leaves_no_heartbeat_thread(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """The client waits for its turn to identify while the new socket already sends beats."""
        before = set(threading.enumerate())
        await setup.channel.start(inbox)
        await until(lambda: bool(_hearts(before)))
        first = _hearts(before)
        await setup.server.gateway.order(9, data=False)
        await until(lambda: bool(_hearts({*before, *first})))
        assert setup.server.gateway.identifies == 1

        await setup.channel.stop()

        await until(lambda: not _hearts(before))

    async def test_a_stop_after_the_socket_was_closed_leaves_no_heartbeat_thread(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord disconnected, and the client had no time to notice."""
        before = set(threading.enumerate())
        await setup.channel.start(inbox)
        await until(lambda: bool(_hearts(before)))
        await setup.server.gateway.hang_up(4000)

        await setup.channel.stop()

        await until(lambda: not _hearts(before))

    async def test_an_invalid_session_is_replaced_and_old_buttons_work(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """After op 9 the client waits, identifies again, and takes presses on older messages."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.server.gateway.order(9, data=False)
        await _healthy(setup.channel, ok=False)

        await setup.server.until(lambda: bool(setup.server.gateway.live))
        await setup.press(message, ApprovalReply.DENY)
        await inbox.take()

        assert setup.server.gateway.identifies == 2
        await _healthy(setup.channel)

    async def test_a_gateway_restarted_in_between_gets_the_press(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
    ) -> None:
        """Another process resumes the kept session; the file is for its owner alone."""
        path = tmp_path / "discord-session.json"
        before = channel_for(server, path)
        await before.start(inbox)
        message = await before.post(Target("discord", str(CHANNEL)), build_prompt(approval()))
        await before.stop()
        await server.press(CHANNEL, int(message), ANA, "Deny")

        after = channel_for(server, path)
        await after.start(inbox)
        (inbound,) = await inbox.take()
        await after.stop()

        assert inbound.command == Approve(ID, ApprovalReply.DENY)
        assert server.gateway.identifies == 1
        assert path.stat().st_mode & 0o777 == 0o600

    async def test_without_the_kept_session_that_press_is_lost(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
    ) -> None:
        """Negative control: a new session has no replay."""
        before = channel_for(server)
        await before.start(inbox)
        message = await before.post(Target("discord", str(CHANNEL)), build_prompt(approval()))
        await before.stop()
        await server.press(CHANNEL, int(message), ANA, "Deny")

        after = channel_for(server)
        await after.start(inbox)
        await server.say(CHANNEL, ANA, f"<@{BOT}> /pending")
        (inbound,) = await inbox.take()
        await after.stop()

        assert inbound.command == PendingList()

    async def test_an_answer_that_was_in_hand_comes_again(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
    ) -> None:
        """A process that dies between event and commit gets the event again from Discord."""
        path = tmp_path / "discord-session.json"
        hanging = RecordingInbox(delay=3_600)
        before = channel_for(server, path)
        await before.start(hanging)
        await server.say(CHANNEL, ANA, f"<@{BOT}> approve 7K3F9Q deny")
        await server.say(CHANNEL, ANA, "talk that moves the session on")
        await asyncio.sleep(0.05)
        await before.stop()

        after = channel_for(server, path)
        await after.start(inbox)
        (inbound,) = await inbox.take()
        await after.stop()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)
        assert hanging.got == []

    async def test_what_is_done_with_is_kept_soon_without_a_stop(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
    ) -> None:
        """A process that is killed has its position in the file, a moment after each answer."""
        path = tmp_path / "discord-session.json"
        channel = channel_for(server, path)
        await channel.start(inbox)
        await server.slash(CHANNEL, ANA, "pending")
        await inbox.take()
        (session,) = server.gateway.live
        async with asyncio.timeout(5):
            while f'"sequence": {len(session.events)}' not in path.read_text():
                await asyncio.sleep(0.02)
        await channel.stop()

        assert session.events[-1]["t"] == "INTERACTION_CREATE"

    @pytest.mark.parametrize("known", [False, True], ids=["op 9", "4007"])
    async def test_a_session_that_cannot_be_resumed_is_replaced(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path, *, known: bool
    ) -> None:
        """A kept session that Discord no longer accepts costs a second or so, not the start."""
        path = tmp_path / "discord-session.json"
        owner = f"{BOT}:{GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES}"
        kept = Session("old", 7, server.gateway.url, owner)
        SessionFile(path).save(kept)
        if known:
            server.gateway.sessions["old"] = EmulatedSession("old", 1)
        channel = channel_for(server, path)
        await channel.start(inbox)
        await server.until(lambda: server.gateway.identifies == 1)
        await _healthy(channel)
        await server.say(CHANNEL, ANA, f"<@{BOT}> /pending")
        await inbox.take()
        await channel.stop()

        assert server.gateway.resumes == 1
        assert SessionFile(path).load(owner) not in (kept, None)

    async def test_a_session_of_other_intents_is_not_resumed(
        self, server: DiscordServer, inbox: RecordingInbox, tmp_path: Path
    ) -> None:
        """Intents are fixed for a session: a changed configuration starts a new one."""
        path = tmp_path / "discord-session.json"
        before = channel_for(server, path)
        await before.start(inbox)
        await before.stop()
        server.state.privileged = True
        after = channel_for(server, path, messageContent=True)
        await after.start(inbox)
        await server.say(CHANNEL, ANA, "approve 7K3F9Q deny")

        await inbox.take()
        await after.stop()

        assert (server.gateway.identifies, server.gateway.resumes) == (2, 0)

    async def test_an_event_that_breaks_the_library_is_passed_over(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A payload that the library cannot read ends its loop; ours resumes after it."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.server.gateway.emit("INTERACTION_CREATE", {"id": "no number"})
        await setup.press(message, ApprovalReply.ALLOW_ONCE)

        (inbound,) = await inbox.take()
        await _healthy(setup.channel)

        assert inbound.command == Approve(ID, ApprovalReply.ALLOW_ONCE)
        assert setup.server.gateway.identifies == 1
