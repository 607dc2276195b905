"""What comes in from Discord: slash commands, mentions, direct messages, replies."""

from typing import Any

import pytest

from channels.cards import build_prompt
from channels.commands import (
    SLASH_COMMANDS,
    Approve,
    BareReply,
    Command,
    Elevated,
    Help,
    HistoryList,
    Malformed,
    Pair,
    PendingList,
    RunLine,
    SetExec,
    Stop,
    Tail,
)
from core.model.approval import HALF_HOUR, ApprovalReply
from core.model.command import ExecOverrides
from core.model.identity import Actor, Target
from core.model.policy import Elevation, ExecAsk, ExecHost
from tests.channels.discord.world import ANA, EVE, DiscordWorld, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_world import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_state import BOT, CHANNEL

_DIRECT = Target("discord", f"user:{ANA}")
_ALWAYS_30M = Approve("7k3f9q", ApprovalReply.ALLOW_ALWAYS, terms=HALF_HOUR)


class TestSlash:
    """The application commands."""

    @pytest.mark.parametrize("reply", list(ApprovalReply))
    async def test_approve_takes_an_id_and_a_decision(
        self, world: DiscordWorld, inbox: RecordingInbox, reply: ApprovalReply
    ) -> None:
        """``/approve`` arrives as typed text would, and is answered in private."""
        await world.channel.start(inbox)
        sent = await world.server.slash(CHANNEL, ANA, "approve", id="7K3F9Q", decision=reply)

        (inbound,) = await inbox.take()
        await world.told("Allowed once: 7K3F9Q.")

        assert inbound.command == Approve("7k3f9q", reply)
        assert inbound.actor == Actor("discord", str(ANA), f"Person {ANA}")
        assert sent.ephemeral

    async def test_a_denial_takes_a_reason(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """The note reaches the agent."""
        await world.channel.start(inbox)
        options = {"id": "7K3F9Q", "decision": "deny", "note": "use staging"}
        await world.server.slash(CHANNEL, ANA, "approve", **options)

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY, "use staging")

    @pytest.mark.parametrize(
        ("name", "options", "command"),
        [
            ("approve", {"id": "7K3F9Q", "decision": "30m"}, _ALWAYS_30M),
            ("history", {}, HistoryList()),
            ("history", {"count": "5"}, HistoryList(5)),
            ("run", {"command": "ls -l  'a b'"}, RunLine("ls -l  'a b'")),
            ("tail", {"id": "7K3F9Q"}, Tail("7k3f9q")),
            ("stop", {"id": "7K3F9Q"}, Stop("7k3f9q")),
            ("exec", {}, SetExec(ExecOverrides())),
            (
                "exec",
                {"node": "build-1", "host": "node", "ask": "always"},
                SetExec(ExecOverrides(host=ExecHost.NODE, ask=ExecAsk.ALWAYS, node="build-1")),
            ),
            ("elevated", {"mode": "off"}, Elevated(Elevation.OFF)),
            ("pair", {"code": "7k3f9q01"}, Pair("7k3f9q01")),
            ("help", {}, Help()),
        ],
    )
    async def test_each_command_arrives_as_it_would_be_typed(
        self,
        world: DiscordWorld,
        inbox: RecordingInbox,
        name: str,
        options: dict[str, str],
        command: Command,
    ) -> None:
        """Fields become words in the order of the grammar, whatever order they were filled in."""
        await world.channel.start(inbox)
        sent = await world.server.slash(CHANNEL, ANA, name, **options)

        (inbound,) = await inbox.take()
        await world.server.until(lambda: sent.answered)

        assert command == inbound.command
        assert sent.ephemeral

    async def test_a_command_of_another_version_is_told(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """What Discord still lists and this version does not know decides nothing."""
        await world.channel.start(inbox)
        data = {"id": "1", "name": "allow", "type": 1, "options": []}
        sent = await world.server.interact(CHANNEL, ANA, 2, {"data": data})
        await world.server.until(lambda: bool(sent.notes))

        assert isinstance(inbox.got[0].command, Malformed)
        assert "Not understood" in sent.notes[0]

    async def test_pending_lists(self, world: DiscordWorld, inbox: RecordingInbox) -> None:
        """``/pending`` asks for the list."""
        await world.channel.start(inbox)
        await world.server.slash(CHANNEL, ANA, "pending")

        (inbound,) = await inbox.take()

        assert inbound.command == PendingList()

    async def test_commands_are_registered_only_where_they_changed(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """A second start finds its commands and leaves them alone."""
        await world.channel.start(inbox)
        await world.channel.stop()
        await world.channel.start(inbox)

        assert world.server.count("putCommands") == 1
        names = [one["name"] for one in world.server.state.commands]
        assert names == [command.name for command in SLASH_COMMANDS]
        world.server.state.commands[0]["description"] = "of an older version"
        await world.channel.stop()
        await world.channel.start(inbox)
        assert world.server.count("putCommands") == 2


class TestTyping:
    """Plain messages."""

    async def test_text_without_a_mention_is_hidden_by_discord(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """In a server the bot hears only what mentions it."""
        await world.channel.start(inbox)
        await world.server.say(CHANNEL, ANA, "approve 7K3F9Q allow-once")
        await world.server.say(CHANNEL, ANA, f"approve 7K3F9Q deny <@{BOT}>")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)

    async def test_with_the_intent_plain_text_counts(
        self, server: DiscordServer, inbox: RecordingInbox
    ) -> None:
        """``messageContent`` lets unmentioned text in, and ordinary talk stays talk."""
        server.state.privileged = True
        channel = channel_for(server, messageContent=True)
        await channel.start(inbox)
        await server.say(CHANNEL, ANA, "shall we approve the budget?")
        await server.say(CHANNEL, ANA, "approve 7K3F9Q allow-once")

        (inbound,) = await inbox.take()
        await channel.stop()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.ALLOW_ONCE)

    async def test_direct_messages_need_no_mention(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """A person is written to by id, and what it writes back comes from that place."""
        await world.channel.start(inbox)
        message = await world.channel.post(_DIRECT, build_prompt(approval()))
        direct = world.server.state.direct[ANA]
        await world.server.say(direct, ANA, "deny because it is live", reply_to=int(message))

        (inbound,) = await inbox.take()

        assert inbound.place == _DIRECT
        assert inbound.command == BareReply(ApprovalReply.DENY, "it is live")
        assert inbound.replied_to == message

    async def test_a_press_in_a_direct_message_comes_from_it(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """Buttons work in direct messages, and the place is the one that was written to."""
        await world.channel.start(inbox)
        message = await world.channel.post(_DIRECT, build_prompt(approval()))
        await world.server.press(world.server.state.direct[ANA], int(message), ANA, "Deny")

        (inbound,) = await inbox.take()

        assert inbound.place == _DIRECT

    async def test_a_reply_with_its_ping_counts_and_one_without_is_told(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """Discord empties a reply that does not ping; its person must not believe it counted."""
        await world.channel.start(inbox)
        message = int(await world.channel.post(world.target, build_prompt(approval())))
        await world.server.say(CHANNEL, ANA, "yes", reply_to=message)
        (first,) = await inbox.take()
        await world.server.say(CHANNEL, ANA, "yes", reply_to=message, ping=False)
        _, second = await inbox.take(2)

        assert first.command == BareReply(ApprovalReply.ALLOW_ONCE)
        assert first.replied_to == str(message)
        assert isinstance(second.command, Malformed)
        await world.told("Discord hides the words of this reply")

    async def test_a_reply_to_somebody_else_is_talk(
        self, world: DiscordWorld, inbox: RecordingInbox
    ) -> None:
        """``yes`` under another person's message decides nothing."""
        await world.channel.start(inbox)
        other = await world.server.say(CHANNEL, EVE, "shall I?")
        await world.server.say(CHANNEL, ANA, "yes", reply_to=int(other["id"]))
        await world.server.say(CHANNEL, ANA, f"<@{BOT}>")

        (inbound,) = await inbox.take()

        assert inbound.command == Help()

    @pytest.mark.parametrize(
        "extra",
        [
            {"webhook_id": "5"},
            {"author": {"id": "7", "username": "b", "bot": True, "discriminator": "0"}},
            {"message_snapshots": [{"message": {}}]},
            {"type": 7},
        ],
        ids=["webhook", "bot", "forwarded", "system"],
    )
    async def test_words_that_no_person_wrote_answer_nothing(
        self, world: DiscordWorld, inbox: RecordingInbox, extra: dict[str, Any]
    ) -> None:
        """Webhooks, bots, forwarded and system messages are ignored."""
        if "message_snapshots" in extra:
            extra = {"message_snapshots": [{"message": _snapshot()}]}
        if "author" in extra:
            extra["author"].setdefault("avatar", None)
        await world.channel.start(inbox)
        await world.server.say(CHANNEL, ANA, f"<@{BOT}> approve 7K3F9Q allow-once", **extra)
        await world.type("approve 7K3F9Q deny")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)


def _snapshot() -> dict[str, Any]:
    empty: dict[str, Any] = {"embeds": [], "attachments": [], "mentions": [], "mention_roles": []}
    return {**empty, "content": "x", "timestamp": "2026-01-01T00:00:00+00:00", "type": 0}
