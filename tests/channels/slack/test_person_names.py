"""Name a person alike whether they press, type or send a command, also after a restart."""

import time

import pytest

from channels.cards.build import build_prompt
from core.model.approval import ApprovalReply
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind

NAME = ANA.lower()


async def test_a_typed_answer_after_a_restart_names_its_person(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A press names Ana; after a restart her words are the first thing to arrive."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.ALLOW_ONCE)
    await inbox.take()
    await setup.channel.stop()
    await setup.channel.start(inbox)
    await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await inbox.take(2)
    await setup.slash("/approve 7k3f9q deny")
    await inbox.take(3)
    await setup.press(message, ApprovalReply.DENY)
    await inbox.take(4)
    await setup.channel.stop()

    assert [NAME] * 4 == [one.actor.name for one in inbox.got]


async def test_slack_is_asked_once_for_each_person(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """What was asked is cached, and a name given by a press is not asked for."""
    await setup.channel.start(inbox)
    for number in (1, 2):
        await setup.server.people.say(CHANNEL, ANA, f"approve 7K3F9Q deny {number}")
        await inbox.take(number)
    await setup.channel.stop()

    assert [NAME] * 2 == [one.actor.name for one in inbox.got]
    assert 1 == setup.server.count("users.info")


async def test_without_the_scope_the_answer_counts_all_the_same(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Control: it is then signed with the member id, and Slack is not asked again."""
    setup.server.state.scopes.discard("users:read")
    await setup.channel.start(inbox)
    for number in (1, 2):
        await setup.server.people.say(CHANNEL, ANA, f"approve 7K3F9Q deny {number}")
        await inbox.take(number)
    await setup.channel.stop()

    assert [""] * 2 == [one.actor.name for one in inbox.got]
    assert 1 == sum(call.method == "users.info" for call in setup.server.calls)


@pytest.mark.parametrize("kind", [FaultKind.HOLD, FaultKind.STATUS])
async def test_an_answer_does_not_wait_for_its_name(
    setup: SlackWorkspace, inbox: RecordingInbox, kind: FaultKind
) -> None:
    """If Slack gives no name in a second the answer counts without one; later it has one."""
    setup.server.faults.add(Fault(kind, "users.info", seconds=5))
    await setup.channel.start(inbox)
    began = time.monotonic()
    await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await inbox.take()
    waited = time.monotonic() - began
    await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny again")
    await inbox.take(2)
    await setup.channel.stop()

    assert waited < 3
    assert ["", NAME] == [one.actor.name for one in inbox.got]
