"""Answer a press first with the final state of the pressed prompt."""

from dataclasses import dataclass

from channels.base import Channel, Inbound, Reply, Tone
from channels.cards.build import build_outcome, build_prompt
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL
from tests.emulators.faults import Fault, FaultKind

_NOTE = "Allowed once: 7K3F9Q."


@dataclass(slots=True)
class DecidingInbox:
    """Decide, edit the prompt as the outbox does, and then reply; ``message`` is edited."""

    channel: Channel
    target: Target
    message: str = ""

    async def receive(self, _: Inbound) -> Reply:
        """Show the end before the reply."""
        ended = build_outcome(approval(resolution=resolved()))
        await self.channel.update(self.target, self.message, ended)
        return Reply(redact(_NOTE), Tone.OK)


async def _posted(setup: DiscordGuild) -> str:
    deciding = DecidingInbox(setup.channel, setup.target)
    await setup.channel.start(deciding)
    deciding.message = await setup.channel.post(setup.target, build_prompt(approval()))
    return deciding.message


async def test_an_edit_is_the_answer_to_the_press_of_its_message(setup: DiscordGuild) -> None:
    """The prompt ends by the callback, and the note follows in private."""
    message = await _posted(setup)
    sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
    await setup.server.until(lambda: sent.notes == [_NOTE])

    assert not setup.can_press(message)
    assert setup.message(message)["content"] != _NOTE
    assert (1, 1) == (setup.server.count("callback"), setup.server.count("followup"))
    assert 0 == setup.server.count("editMessage")
    assert sent.replies[0]["flags"] & 64


async def test_a_redelivered_press_leaves_the_final_state(setup: DiscordGuild) -> None:
    """The note to an already known press is put next to the prompt, not in its place."""
    message = await _posted(setup)
    sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
    await setup.server.until(lambda: sent.notes == [_NOTE])
    ended = setup.message(message)["content"]
    await setup.server.redeliver(sent)
    await setup.server.until(lambda: len(sent.notes) > 1)

    assert ended == setup.message(message)["content"]
    assert [_NOTE, _NOTE] == sent.notes


async def test_an_answer_that_discord_refuses_is_an_edit(setup: DiscordGuild) -> None:
    """The prompt is edited the other way, and its person still gets the note."""
    message = await _posted(setup)
    setup.server.faults.add(Fault(FaultKind.STATUS, "callback", 403))
    sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
    await setup.server.until(lambda: sent.notes == [_NOTE])

    assert not setup.can_press(message)
    assert 1 == setup.server.count("editMessage")


async def test_an_edit_after_the_reply_is_an_edit(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """A press that has its reply takes no other answer."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    sent = await setup.server.press(CHANNEL, int(message), ANA, "Allow once")
    await setup.server.until(lambda: sent.notes == [inbox.reply])
    await setup.channel.update(
        setup.target, message, build_outcome(approval(resolution=resolved()))
    )

    assert not setup.can_press(message)
    assert 1 == setup.server.count("editMessage")
    assert [inbox.reply] == sent.notes
