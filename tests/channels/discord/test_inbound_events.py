"""Receive from Discord: mentions, direct messages, replies."""

from typing import Any

import pytest

from channels.cards.build import build_prompt
from channels.commands import Approve, BareReply, Help, Malformed
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.channels.discord.guild import ANA, EVE, DiscordGuild, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL

_DIRECT = Target("discord", f"user:{ANA}")


class TestTyping:
    """Plain messages."""

    async def test_text_without_a_mention_is_hidden_by_discord(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """In a server the bot receives only what mentions it."""
        await setup.channel.start(inbox)
        await setup.server.say(CHANNEL, ANA, "approve 7K3F9Q allow-once")
        await setup.server.say(CHANNEL, ANA, f"approve 7K3F9Q deny <@{BOT}>")

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
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A person is written to by id, and their reply comes from that place."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(_DIRECT, build_prompt(approval()))
        direct = setup.server.state.direct[ANA]
        await setup.server.say(direct, ANA, "deny because it is live", reply_to=int(message))

        (inbound,) = await inbox.take()

        assert inbound.place == _DIRECT
        assert inbound.command == BareReply(ApprovalReply.DENY, "it is live")
        assert inbound.replied_to == message

    async def test_a_press_in_a_direct_message_comes_from_it(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Buttons work in direct messages, and the place is the one that was written to."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(_DIRECT, build_prompt(approval()))
        await setup.server.press(setup.server.state.direct[ANA], int(message), ANA, "Deny")

        (inbound,) = await inbox.take()

        assert inbound.place == _DIRECT

    async def test_a_reply_with_its_ping_counts_and_one_without_is_told(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord empties a reply that does not ping; its person must not believe it counted."""
        await setup.channel.start(inbox)
        message = int(await setup.channel.post(setup.target, build_prompt(approval())))
        await setup.server.say(CHANNEL, ANA, "yes", reply_to=message)
        (first,) = await inbox.take()
        await setup.server.say(CHANNEL, ANA, "yes", reply_to=message, ping=False)
        _, second = await inbox.take(2)

        assert first.command == BareReply(ApprovalReply.ALLOW_ONCE)
        assert first.replied_to == str(message)
        assert isinstance(second.command, Malformed)
        await setup.sees("Discord hides the text of this reply")

    async def test_a_reply_to_somebody_else_is_talk(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """``yes`` under another person's message decides nothing."""
        await setup.channel.start(inbox)
        other = await setup.server.say(CHANNEL, EVE, "shall I?")
        await setup.server.say(CHANNEL, ANA, "yes", reply_to=int(other["id"]))
        await setup.server.say(CHANNEL, ANA, f"<@{BOT}>")

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
        self, setup: DiscordGuild, inbox: RecordingInbox, extra: dict[str, Any]
    ) -> None:
        """Webhooks, bots, forwarded and system messages are ignored."""
        if "message_snapshots" in extra:
            extra = {"message_snapshots": [{"message": _snapshot()}]}
        if "author" in extra:
            extra["author"].setdefault("avatar", None)
        await setup.channel.start(inbox)
        await setup.server.say(CHANNEL, ANA, f"<@{BOT}> approve 7K3F9Q allow-once", **extra)
        await setup.type("approve 7K3F9Q deny")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)


def _snapshot() -> dict[str, Any]:
    empty: dict[str, Any] = {"embeds": [], "attachments": [], "mentions": [], "mention_roles": []}
    return {**empty, "content": "x", "timestamp": "2026-01-01T00:00:00+00:00", "type": 0}
