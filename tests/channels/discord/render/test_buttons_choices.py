"""Show choices under a reply: in private, replaced by the result."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.cards.card import Choice
from channels.commands import Approve, Choose
from core.model.approval import HALF_HOUR, THIS_SESSION, ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, EVE, DiscordGuild, channel_for
from tests.contracts.channel_examples import ID, approval
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL

_OFFERED = (
    Choice("Always", Approve(ID, ApprovalReply.ALLOW_ALWAYS)),
    Choice("30 min", Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=HALF_HOUR)),
    Choice("This session", Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=THIS_SESSION)),
)
_STORED = "Would be stored: /usr/bin/rm"


@dataclass(slots=True)
class ChoosingInbox:
    """Offer what the broker would offer, and accept only Ana's answer."""

    got: list[Inbound] = field(default_factory=list)
    slow: float = 0.0
    held: asyncio.Event | None = None
    told: str = "Allowed for 30 min: 7K3F9Q."

    async def receive(self, inbound: Inbound) -> Reply:
        """Answer with choices first, then with the result."""
        await asyncio.sleep(self.slow)
        if self.held is not None:
            await self.held.wait()
        self.got.append(inbound)
        if inbound.actor.account != str(ANA):
            return Reply(redact("You may not answer this."), Tone.REFUSED)
        answered = isinstance(inbound.command, Approve) and inbound.command.ref == ID
        if answered:
            return Reply(redact(self.told), Tone.OK)
        return Reply(redact(_STORED), choices=_OFFERED)


async def _offered(setup: DiscordGuild, inbox: ChoosingInbox) -> str:
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ALWAYS)
    await setup.sees(_STORED)
    return message


class TestPrivate:
    """Behind the prompt's own button."""

    async def test_a_choice_comes_in_and_its_message_is_replaced(self, setup: DiscordGuild) -> None:
        """The offer is Ana's alone; after the press it says what was decided, without buttons."""
        inbox = ChoosingInbox()
        message = await _offered(setup, inbox)
        (offer,) = setup.server.state.interactions.values()
        labels = [button["label"] for button in offer.replies[0]["components"][0]["components"]]
        await setup.press_choice("30 min")
        await setup.sees(inbox.told)

        assert offer.ephemeral
        assert labels == ["Always", "30 min", "This session"]
        assert [one.command for one in inbox.got] == [Choose(ID), _OFFERED[1].command]
        assert [one.replied_to for one in inbox.got] == [message, ""]
        assert offer.notes == [inbox.told]
        assert offer.replies[0]["components"] == []
        assert setup.can_press(message)
        assert len(setup.server.messages(CHANNEL)) == 1

    async def test_a_slow_commit_replaces_it_when_it_is_true(self, setup: DiscordGuild) -> None:
        """The press is acknowledged in time; until the commit the offer is unchanged."""
        inbox = ChoosingInbox()
        await _offered(setup, inbox)
        setup.server.state.first_answer_seconds = 2.5
        inbox.held = asyncio.Event()
        await setup.press_choice("Always")
        pressed = list(setup.server.state.interactions.values())[-1]
        await setup.server.until(lambda: pressed.answered)
        assert pressed.updates
        assert any(_STORED in text for text in setup.seen())

        inbox.held.set()
        await setup.sees(inbox.told)
        assert not any(_STORED in text for text in setup.seen())
        assert not pressed.late

    async def test_a_long_outcome_is_told_whole(self, setup: DiscordGuild) -> None:
        """The first part replaces the offer, the others follow in private."""
        inbox = ChoosingInbox(told="0123456789" * 300)
        await _offered(setup, inbox)
        await setup.press_choice("Always")
        await setup.server.until(lambda: len(setup.server.state.interactions) == 2)
        pressed = list(setup.server.state.interactions.values())[-1]
        await setup.server.until(lambda: bool(pressed.replies))

        assert not any(_STORED in text for text in setup.seen())
        assert pressed.replies[0]["flags"] & 64

    async def test_choices_outlive_the_gateway(self, server: DiscordServer, tmp_path: Path) -> None:
        """Nothing is kept in memory: another process takes the press and replaces the offer."""
        first, second = ChoosingInbox(), ChoosingInbox()
        path = tmp_path / "discord-session.json"
        setup = DiscordGuild(server, channel_for(server, path))
        await _offered(setup, first)
        await setup.channel.stop()
        setup.channel = channel_for(server, path)
        await setup.channel.start(second)
        await setup.press_choice("This session")
        await setup.sees(second.told)
        await setup.channel.stop()

        assert [one.command for one in second.got] == [_OFFERED[2].command]
        assert not any(_STORED in text for text in setup.seen())


class TestTyped:
    """Under a reply to words, which all can see."""

    @pytest.mark.parametrize("slow", [0.0, 1.4])
    async def test_who_may_not_changes_nothing(self, setup: DiscordGuild, slow: float) -> None:
        """A refusal is a private note next to the offer; a person who may can still choose."""
        inbox = ChoosingInbox()
        await setup.channel.start(inbox)
        await setup.type("/approve 000000 allow-always")
        await setup.sees(_STORED)
        inbox.slow = slow
        await setup.server.choose(EVE, "30 min")
        refused = list(setup.server.state.interactions.values())[-1]
        await setup.server.until(lambda: bool(refused.replies))

        assert refused.replies[0]["flags"] & 64
        assert "may not" in refused.notes[0]
        assert setup.server.offers(ANA, "30 min")

        inbox.slow = 0
        await setup.press_choice("30 min")
        await setup.sees(inbox.told)
        assert not setup.server.offers(ANA, "30 min")
        assert all(one.replied_to == "" for one in inbox.got)

    async def test_choices_can_be_pressed_in_a_direct_message(self, setup: DiscordGuild) -> None:
        """The reply in a direct message has its buttons too, and is replaced."""
        inbox = ChoosingInbox()
        await setup.channel.start(inbox)
        direct = int(setup.server.state.direct_channel(ANA)["id"])
        await setup.server.say(direct, ANA, f"<@{BOT}> approve 000000 allow-always")
        await setup.sees(_STORED)
        await setup.press_choice("Always")
        await setup.sees(inbox.told)

        assert inbox.got[-1].place == Target("discord", f"user:{ANA}")
        assert [one["components"] for one in setup.server.messages(direct)] == [[], []]
