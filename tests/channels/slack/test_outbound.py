"""Look for a prompt whose sending is in doubt before sending it again."""

import json
from itertools import pairwise

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.slack.errors import Unconfirmed
from core.model.identity import Target
from tests.channels.slack.workspace import (
    ANA,
    CHANNEL,
    SlackWorkspace,
    channel_for,
    fresh,
    prompts,
    ts_of,
)
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import buttons, texts


@pytest.mark.parametrize(
    "fault",
    [Fault(FaultKind.LOSE, "chat.postMessage")],
)
async def test_a_message_that_was_taken_is_found(
    setup: SlackWorkspace, inbox: RecordingInbox, fault: Fault
) -> None:
    """The answer got lost: the message is found by its metadata, and there is one."""
    await setup.channel.start(inbox)
    setup.server.faults.add(fault)
    message = await setup.channel.post(setup.target, build_prompt(fresh()))
    await setup.channel.stop()

    assert prompts(setup) == [ts_of(message)]


@pytest.mark.parametrize("thread", [False, True])
async def test_a_message_that_was_not_taken_is_sent_again_later(
    setup: SlackWorkspace, inbox: RecordingInbox, thread: bool
) -> None:
    """Nothing is found, so it is the outbox's turn; then it is sent, once."""
    root = setup.server.state.typed(CHANNEL, ANA, "the deployment")["ts"] if thread else ""
    target = Target("slack", CHANNEL, thread=root)
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.DROP, "chat.postMessage"))
    with pytest.raises(Unconfirmed) as raised:
        await setup.channel.post(target, build_prompt(fresh()))
    assert not raised.value.permanent
    message = await setup.channel.post(target, build_prompt(fresh()))
    await setup.channel.stop()

    assert prompts(setup) == [ts_of(message)]


@pytest.mark.parametrize("thread", [False, True])
async def test_a_gateway_that_died_after_sending_leaves_one_prompt(
    setup: SlackWorkspace, inbox: RecordingInbox, thread: bool
) -> None:
    """The next gateway claims the row again, and finds what the first one had sent."""
    root = setup.server.state.typed(CHANNEL, ANA, "the deployment")["ts"] if thread else ""
    target = Target("slack", CHANNEL, thread=root)
    await setup.channel.start(inbox)
    first = await setup.channel.post(target, build_prompt(approval()))
    await setup.channel.stop()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    second = await successor.post(target, build_prompt(approval()))
    await successor.stop()

    assert first == second
    assert len(prompts(setup)) == 1


async def test_without_the_lookup_there_would_be_two(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Negative control: if history may not be read, the same crash shows two prompts."""
    setup.server.state.scopes.discard("channels:history")
    await setup.channel.start(inbox)
    await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()
    successor = channel_for(setup.server)
    await successor.start(inbox)
    await successor.post(setup.target, build_prompt(approval()))
    await successor.stop()

    assert len(prompts(setup)) == 2


async def test_metadata_of_others_is_not_believed(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A member's app that copies our metadata cannot pass for our prompt."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    copied = {**setup.sent(message), "user": ANA}
    del setup.server.state.places[CHANNEL].messages[ts_of(message)]
    setup.server.state.places[CHANNEL].messages[copied["ts"]] = copied
    again = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()

    assert again != message


async def test_a_copy_that_ended_does_not_stand_for_a_new_one(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """What was edited had been recorded, so a prompt that is sent again is shown again."""
    await setup.channel.start(inbox)
    first = await setup.channel.post(setup.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    await setup.channel.update(setup.target, first, final)
    second = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.stop()

    assert prompts(setup) == [ts_of(first), ts_of(second)]
    assert setup.can_press(second)


async def test_a_fresh_prompt_costs_one_call(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """No one can have sent it before, so nothing is looked up."""
    await setup.channel.start(inbox)
    await setup.channel.post(setup.target, build_prompt(fresh()))
    await setup.channel.stop()

    assert setup.server.count("conversations.history") == 0


async def test_a_long_command_is_taken_up_where_it_broke_off(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Of a command in three messages only what is missing is sent after a fault."""
    card = build_prompt(approval(plan(text="x" * 15_000)))
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.DELAY, "chat.postMessage", seconds=0))
    setup.server.faults.add(Fault(FaultKind.DROP, "chat.postMessage"))
    with pytest.raises(Unconfirmed):
        await setup.channel.post(setup.target, card)
    assert len(prompts(setup)) == 1
    message = await setup.channel.post(setup.target, card)
    await setup.channel.stop()

    sent = list(setup.server.state.places[CHANNEL].messages.values())
    assert len(sent) == 3
    assert all(before["ts"] < after["ts"] for before, after in pairwise(sent))
    assert [bool(buttons(one["blocks"])) for one in sent] == [False, False, True]
    assert sent[-1]["ts"] == ts_of(message)
    shown = "".join(text for kind, text in texts([one["blocks"] for one in sent]) if kind == "text")
    assert "x" * 15_000 in shown
    assert "xx" not in json.dumps([one["text"] for one in sent])


async def test_a_doubt_is_remembered_until_it_can_be_settled(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The message was taken, but neither answer nor history came: the next try finds it."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.LOSE, "chat.postMessage"))
    setup.server.faults.add(Fault(FaultKind.STATUS, "conversations.history", 500))
    with pytest.raises(Unconfirmed):
        await setup.channel.post(setup.target, build_prompt(fresh()))
    message = await setup.channel.post(setup.target, build_prompt(fresh()))
    await setup.channel.stop()

    assert prompts(setup) == [ts_of(message)]
