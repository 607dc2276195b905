"""Answer the "Details" button: it decides and edits nothing, and answers the one who pressed."""

from channels.cards.build import build_outcome, build_prompt
from channels.commands import Details
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL


async def test_details_come_privately_and_the_prompt_stays(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """One ephemeral note; the message keeps its content and all of its buttons."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    before = (setup.message(message)["content"], setup.message(message)["components"])
    await setup.server.press(CHANNEL, int(message), ANA, "Details")
    await setup.sees("Program: rm")
    (answered,) = setup.server.state.interactions.values()
    after = (setup.message(message)["content"], setup.message(message)["components"])
    await setup.channel.stop()

    assert [one.command for one in inbox.got] == [Details(ID)]
    assert answered.ephemeral
    assert after == before
    assert setup.can_press(message)


async def test_a_press_that_meets_the_end_leaves_the_final_state(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """The note is still sent, and no button returns."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.server.press(CHANNEL, int(message), ANA, "Details")
    ended = build_outcome(approval(resolution=resolved()))
    await setup.channel.update(setup.target, message, ended)
    await setup.sees("Program: rm")
    await setup.channel.stop()

    assert not setup.can_press(message)
    assert "Allowed once by Ana" in setup.message(message)["content"]
