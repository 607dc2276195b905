"""Answer the "Details" button: it decides and edits nothing, and answers the one who pressed."""

from channels.cards.build import build_outcome, build_prompt
from channels.commands import Details
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, channel_for, labels, ts_of
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.slack_rules import seen


async def test_details_come_privately_and_the_prompt_stays(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """One private note; the message keeps its blocks and all of its buttons."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    before = setup.sent(message)["blocks"]
    await setup.server.people.press(CHANNEL, ts_of(message), ANA, "Details")
    await setup.sees("Program: rm")
    await setup.channel.stop()

    (inbound,) = inbox.got
    assert (inbound.command, inbound.actor.account) == (Details(ID), ANA)
    assert setup.sent(message)["blocks"] == before
    assert "Deny" in labels(before)
    (note,) = setup.server.state.whispers
    assert note["user"] == ANA
    assert "Program: rm" in seen(note["blocks"])


async def test_details_work_after_a_restart_and_race_with_the_end(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Nothing is kept in memory; a press that meets the final edit leaves the final state."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    press = setup.server.people.press(CHANNEL, ts_of(message), ANA, "Details")
    await press
    await successor.update(setup.target, message, build_outcome(approval(resolution=resolved())))
    await setup.sees("Program: rm")
    await successor.stop()

    assert [one.command for one in inbox.got] == [Details(ID)]
    assert labels(setup.sent(message)["blocks"]) == []
    assert "Allowed once by Ana" in seen(setup.sent(message)["blocks"])
