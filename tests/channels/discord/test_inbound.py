"""Tell a person on Discord the right thing, at the right time, visible to the right people."""

import asyncio
from dataclasses import dataclass
from typing import Any

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.commands import Malformed
from core.model.approval import ApprovalReply
from core.text.render import redact
from tests.channels.discord.guild import ANA, EVE, DiscordGuild
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox
from tests.emulators.discord_objects import CHANNEL


@dataclass(slots=True)
class FirmInbox:
    """Let only Ana answer, as the broker would."""

    refused: int = 0

    async def receive(self, inbound: Inbound) -> Reply:
        """Refuse anyone but Ana."""
        if inbound.actor.account == str(ANA):
            return Reply(redact("Allowed once: 7K3F9Q."), Tone.OK)
        self.refused += 1
        words = f"You may not answer this: id {inbound.actor.account} is not listed."
        return Reply(redact(words), Tone.REFUSED)


class TestAnswers:
    """What a person is told, and when."""

    async def test_an_unauthorised_press_gets_a_private_note_and_changes_nothing(
        self, setup: DiscordGuild
    ) -> None:
        """The refusal is seen by that person alone, and the prompt keeps its buttons."""
        firm = FirmInbox()
        await setup.channel.start(firm)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        sent = await setup.server.press(CHANNEL, int(message), EVE, "Allow once")
        await setup.server.until(lambda: bool(sent.notes))

        assert firm.refused == 1
        assert sent.ephemeral
        assert sent.replies[0]["flags"] & 4, "addresses in it are not looked up"
        assert "id 66 is not listed" in sent.notes[0]
        assert setup.can_press(message)
        assert len(setup.server.messages(CHANNEL)) == 1

    async def test_a_quick_decision_takes_one_answer(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A press that is committed at once costs one call."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.press(message, ApprovalReply.ALLOW_ONCE)
        await setup.sees("Allowed once: 7K3F9Q.")

        assert setup.server.count("callback") == 1
        assert setup.server.count("editOriginal") == 0

    async def test_a_slow_commit_is_acknowledged_in_time_and_told_when_true(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Before the commit there is only a deferral; afterwards the truth."""
        inbox.held = asyncio.Event()
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
        await setup.server.until(lambda: sent.loading)
        assert sent.notes == []
        assert inbox.got == []

        inbox.held.set()
        await setup.server.until(lambda: sent.notes == ["Allowed once: 7K3F9Q."])
        assert not sent.late

    async def test_a_press_that_discord_gave_up_on_counts_and_is_told(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord told the person that it failed; a direct message tells the truth."""
        setup.server.state.first_answer_seconds = 0.0
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.press(message, ApprovalReply.ALLOW_ONCE)
        await inbox.take()
        await setup.server.until(lambda: bool(setup.server.state.direct))
        direct = setup.server.state.direct[ANA]
        await setup.server.until(lambda: bool(setup.server.messages(direct)))

        assert "Allowed once" in setup.server.messages(direct)[0]["content"]

    async def test_a_failing_store_is_asked_again(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Discord keeps no press for us, so it is kept here until it is committed."""
        inbox.failures = [BROKEN_STORE, BROKEN_STORE]
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.press(message, ApprovalReply.DENY)

        await inbox.take()
        await setup.sees("Allowed once: 7K3F9Q.")

    async def test_a_fault_of_ours_is_told_and_blocks_nothing(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """An answer that always breaks the inbox is given up, and its person is told."""
        inbox.failures = [KeyError("ours")] * 3
        await setup.channel.start(inbox)
        await setup.type("approve 7K3F9Q deny")
        await setup.sees("Internal error: this answer was not recorded and changed nothing")
        await setup.type("/pending")
        await inbox.take()

        assert len(inbox.got) == 1

    async def test_a_foreign_button_is_told(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """A button of another version decides nothing and says so."""
        await setup.channel.start(inbox)
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        button = setup.message(message)["components"][0]["components"][0]
        button["custom_id"] = f"appr:o:{ID}x"
        await setup.press(message, ApprovalReply.ALLOW_ONCE)

        (inbound,) = await inbox.take()
        await setup.sees("This button is from another version of Sayso")
        assert isinstance(inbound.command, Malformed)

    async def test_a_redelivered_press_has_the_same_key_and_one_answer(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """The inbox can tell a replay from a second press, and the person is told once."""
        keys: list[str] = []

        class Counting:
            async def receive(self, inbound: Inbound) -> Reply:
                keys.append(inbound.key)
                return await inbox.receive(inbound)

        await setup.channel.start(Counting())
        message = await setup.channel.post(setup.target, build_prompt(approval()))
        sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
        await setup.server.redeliver(sent)
        await setup.server.until(lambda: setup.server.count("editOriginal") == 1)

        assert len(keys) == 2
        assert len(set(keys)) == 1
        assert len(inbox.got) == 1
        assert sent.notes == ["Allowed once: 7K3F9Q."]

    async def test_a_long_list_is_told_whole(self, setup: DiscordGuild) -> None:
        """A reply of several messages loses nothing; a longer one goes as a file."""

        @dataclass
        class Talkative:
            words: str

            async def receive(self, inbound: Inbound) -> Reply:
                return Reply(redact(self.words))

        talkative = Talkative("0123456789" * 400)
        await setup.channel.start(talkative)
        await setup.server.slash(CHANNEL, ANA, "pending")
        await setup.server.until(lambda: len(setup.seen()) == 3)
        shown = "".join(note.strip("`\n") for note in setup.seen())
        assert shown == talkative.words

        talkative.words = "0123456789" * 2000
        await setup.type("/pending")
        await setup.server.until(lambda: any(one["attachments"] for one in _own(setup)))
        (file,) = [one["attachments"][0]["_"] for one in _own(setup) if one["attachments"]]
        assert file == talkative.words


def _own(setup: DiscordGuild) -> list[dict[str, Any]]:
    return [one for one in setup.server.messages(CHANNEL) if one["author"]["bot"]]
