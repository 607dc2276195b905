"""Count a reply in a thread whether or not its event says who began the thread."""

import asyncio

import pytest

from channels.cards.build import build_prompt
from channels.commands import Approve, BareReply
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, ts_of
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind

ALWAYS = BareReply(ApprovalReply.ALLOW_ALWAYS)
YES = BareReply(ApprovalReply.ALLOW_ONCE)


def leave_out(setup: SlackWorkspace) -> None:
    """Let no event say who began its thread."""
    setup.server.alterations.dropped = ("message", "payload.event.parent_user_id")


@pytest.mark.parametrize("absent", [False, True], ids=["told", "left out"])
@pytest.mark.parametrize(
    ("said", "command"), [("always", ALWAYS), ("@sayso yes", YES), ("no", None)]
)
async def test_words_below_a_prompt_answer_it(
    setup: SlackWorkspace,
    inbox: RecordingInbox,
    said: str,
    command: BareReply | None,
    absent: bool,
) -> None:
    """Each is the reply to the prompt that the thread began with."""
    if absent:
        leave_out(setup)
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.server.people.say(CHANNEL, ANA, said, ts_of(message))
    (inbound,) = await inbox.take()

    assert inbound.command == (command or BareReply(ApprovalReply.DENY))
    assert inbound.replied_to == message


async def test_words_in_a_thread_of_people_are_theirs(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Negative control: below a person's message nothing is an answer, and no one is told so."""
    leave_out(setup)
    await setup.channel.start(inbox)
    (root,) = await setup.server.people.say(CHANNEL, ANA, "shall we have lunch?")
    thread = str(root.payload["event"]["ts"])
    said = await setup.server.people.say(CHANNEL, ANA, "yes", thread)
    await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny", thread)
    (inbound,) = await inbox.take()
    await setup.server.until(lambda: all(one.acked for one in said))
    await setup.sees("Allowed once: 7K3F9Q.")
    await asyncio.sleep(0.1)

    assert inbound.command == Approve(ApprovalId("7k3f9q"), ApprovalReply.DENY, typed=True)
    assert inbound.replied_to == ""
    assert setup.notes() == ["Allowed once: 7K3F9Q."]


async def test_a_thread_that_cannot_be_looked_up_now_is_offered_again(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Slack sends the event again, and then the word counts."""
    leave_out(setup)
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    setup.server.faults.add(Fault(FaultKind.STATUS, "conversations.replies", 503))
    setup.server.delivery.ack_seconds = 0.5
    await setup.server.people.say(CHANNEL, ANA, "always", ts_of(message))
    (inbound,) = await inbox.take()

    assert inbound.command == ALWAYS
