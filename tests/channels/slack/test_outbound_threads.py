"""Use a thread for a session: opened once, written to like any place, and answered in."""

import pytest

from channels.base import Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.commands import Approve
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, prompts
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import seen

TITLE = redact("Agent main: <!channel> nightly")


async def opened(setup: SlackWorkspace, target: Target) -> Target:
    """Open a thread in a place."""
    assert isinstance(setup.channel, Threads)
    return await setup.channel.open_thread(target, TITLE)


@pytest.mark.parametrize("to", [CHANNEL, ANA], ids=["channel", "direct messages"])
async def test_prompt_end_and_notice_stand_in_the_thread(
    setup: SlackWorkspace, inbox: RecordingInbox, to: str
) -> None:
    """The returned place takes everything that a channel's own place takes."""
    await setup.channel.start(inbox)
    thread = await opened(setup, Target("slack", to, account="x"))
    message = await setup.channel.post(thread, build_prompt(approval()))
    notice = await setup.channel.notify(thread, NoticeCard(redact("Half time passed")))
    await setup.channel.update(thread, message, build_outcome(approval(resolution=resolved())))
    await setup.channel.stop()

    assert (thread.channel, thread.to, thread.account) == ("slack", to, "x")
    assert {setup.sent(one)["thread_ts"] for one in (message, notice)} == {thread.thread}
    assert not setup.can_press(message)
    root = setup.sent(f"{message.partition(':')[0]}:{thread.thread}")
    assert seen(root["blocks"]) == TITLE.text


async def test_an_answer_in_the_thread_comes_from_there(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Words without the slash and a press both name the thread."""
    await setup.channel.start(inbox)
    thread = await opened(setup, setup.target)
    message = await setup.channel.post(thread, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)
    await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny", thread.thread)
    pressed, typed = await inbox.take(2)
    await setup.channel.stop()

    assert pressed.replied_to == message
    assert typed.command == Approve("7k3f9q", ApprovalReply.DENY)
    assert pressed.place == typed.place == Target("slack", CHANNEL, thread=thread.thread)


async def test_a_thread_has_no_threads_of_its_own(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A place that is a thread is returned as it is, and nothing is sent."""
    root = setup.server.state.typed(CHANNEL, ANA, "the deployment")["ts"]
    place = Target("slack", CHANNEL, thread=root)
    await setup.channel.start(inbox)
    thread = await opened(setup, place)
    await setup.channel.stop()

    assert thread == place
    assert prompts(setup) == []


async def test_a_title_whose_sending_was_not_confirmed_is_found(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Slack took it and the answer got lost: the thread is there, once."""
    setup.server.faults.add(Fault(FaultKind.LOSE, "chat.postMessage"))
    setup.server.faults.add(Fault(FaultKind.STATUS, "conversations.history", 500))
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError) as raised:
        await opened(setup, setup.target)
    thread = await opened(setup, setup.target)
    await setup.channel.stop()

    assert not raised.value.permanent
    assert prompts(setup) == [thread.thread]


async def test_two_sessions_with_one_title_have_two_threads(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """If nothing is in doubt, nothing is looked up."""
    await setup.channel.start(inbox)
    first, second = await opened(setup, setup.target), await opened(setup, setup.target)
    await setup.channel.stop()

    assert first != second
    assert setup.server.count("conversations.history") == 0


async def test_a_place_without_us_is_refused_for_good(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The words say what to do."""
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match="invite the bot") as raised:
        await opened(setup, Target("slack", "C0OTHER01"))
    await setup.channel.stop()

    assert raised.value.permanent


async def test_a_message_is_its_thread(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """Nothing is sent for it; a thread in which something was written stays that thread."""
    await setup.channel.start(inbox)
    assert isinstance(setup.channel, Threads)
    place, written = Target("slack", CHANNEL), f"{CHANNEL}:1700000000.000100"
    thread = await setup.channel.open_thread(place, TITLE, written)
    same = await setup.channel.open_thread(thread, TITLE, f"{CHANNEL}:1700000000.000200")
    await setup.channel.stop()

    assert thread.thread == "1700000000.000100"
    assert same == thread
    assert not setup.server.state.place(CHANNEL).messages
