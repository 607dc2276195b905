"""Take what people do on Slack once, from whoever did it, wherever they did it."""

from dataclasses import dataclass, field

import pytest

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_outcome, build_prompt
from channels.commands import Approve, BareReply, Choose, Command, Malformed, RunLine
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.slack.workspace import ANA, BOB, CHANNEL, LABELS, SlackWorkspace, ts_of
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import seen

DENY = Approve("7k3f9q", ApprovalReply.DENY)


@dataclass(slots=True)
class CountingInbox:
    """Count every hand-over, those of one event too, and refuse."""

    got: list[Inbound] = field(default_factory=list)

    async def receive(self, inbound: Inbound) -> Reply:
        """Refuse, as for a person who may not answer."""
        self.got.append(inbound)
        return Reply(redact("You may not answer this."), Tone.REFUSED)


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        (ApprovalReply.ALLOW_ONCE, Approve(ID, ApprovalReply.ALLOW_ONCE)),
        (ApprovalReply.ALLOW_ALWAYS, Choose(ID)),
        (ApprovalReply.DENY, Approve(ID, ApprovalReply.DENY)),
    ],
)
async def test_each_button_brings_its_answer(
    setup: SlackWorkspace, inbox: RecordingInbox, reply: ApprovalReply, command: Command
) -> None:
    """Each button names the decision, the whole id, the member and the message."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    press = await setup.press(message, reply)
    await setup.channel.stop()

    (inbound,) = inbox.got
    assert press.acked
    assert inbound.command == command
    assert inbound.actor.account == ANA
    assert inbound.place == Target("slack", CHANNEL)
    assert inbound.replied_to == message


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("approve 7K3F9Q deny", DENY),
        ("approve deny 7K3F9Q", DENY),
        ("@sayso approve 7K3F9Q deny", DENY),
        ("@sayso: /approve 7K3F9Q deny a & b < c", Approve("7k3f9q", DENY.reply, "a & b < c")),
        ("/approve 7K3F9Q deny", DENY),
        ("/approve deny 7K3F9Q", DENY),
        ("@sayso /run curl http://a.example/?x=1&y=2", RunLine("curl http://a.example/?x=1&y=2")),
        ("/run curl  'http://a.example/'", RunLine("curl  'http://a.example/'")),
    ],
)
async def test_each_typed_form_counts(
    setup: SlackWorkspace, inbox: RecordingInbox, line: str, command: Command
) -> None:
    """Slash command, plain words and mention are the same; what Slack made a link is words."""
    await setup.channel.start(inbox)
    await setup.type(line)

    (inbound,) = await inbox.take()
    await setup.channel.stop()

    assert inbound.command == command
    assert inbound.actor.account == ANA


async def test_a_thread_takes_the_words_without_the_slash(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Slack has no slash commands in threads; the words and a bare reply count there."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    with pytest.raises(LookupError):
        await setup.server.people.slash(CHANNEL, ANA, "/approve 7K3F9Q deny", ts_of(message))
    say = setup.server.people.say
    await say(CHANNEL, ANA, "approve 7K3F9Q deny", ts_of(message))
    await inbox.take()
    await say(CHANNEL, ANA, "deny because it is live", ts_of(message))

    first, second = await inbox.take(2)
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()

    assert first.command == DENY
    assert first.place == Target("slack", CHANNEL, thread=ts_of(message))
    assert second.command == BareReply(ApprovalReply.DENY, "it is live")
    assert second.replied_to == message
    assert {note["thread_ts"] for note in setup.server.state.whispers} == {ts_of(message)}


async def test_a_bare_word_that_replies_to_nobody_is_talk(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """``yes`` in a channel, or in a thread that a member began, decides nothing."""
    await setup.channel.start(inbox)
    await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.type("yes")
    (root,) = await setup.server.people.say(CHANNEL, BOB, "shall we?")
    await setup.server.people.say(CHANNEL, ANA, "yes", root.payload["event"]["ts"])
    await setup.type("approve 7K3F9Q deny")

    (inbound,) = await inbox.take()
    await setup.channel.stop()

    assert inbound.command == DENY


async def test_a_mention_in_the_prompts_thread_counts_once(setup: SlackWorkspace) -> None:
    """The mention and the message are two events of one answer, in either order."""
    inbox = CountingInbox()
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    events = await setup.server.people.say(CHANNEL, ANA, "@sayso yes", ts_of(message))
    await setup.server.until(lambda: all(event.acked for event in events))
    await setup.channel.stop()

    assert len(events) == 2
    (inbound,) = inbox.got
    assert inbound.command == BareReply(ApprovalReply.ALLOW_ONCE)
    assert inbound.replied_to == message


async def test_a_direct_message_is_written_and_heard(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A prompt to a member is in the direct messages; answers there come from the member."""
    target = Target("slack", ANA)
    await setup.channel.start(inbox)
    message = await setup.channel.post(target, build_prompt(approval()))
    place = message.partition(":")[0]
    await setup.server.people.press(place, ts_of(message), ANA, "Deny")
    await setup.server.people.say(place, ANA, "approve 7K3F9Q deny")
    pressed, typed = await inbox.take(2)
    await setup.channel.update(target, message, build_outcome(approval(resolution=resolved())))
    sent = setup.server.state.places[place].messages.values
    await setup.server.until(
        lambda: any("Allowed once: 7K" in seen(m.get("blocks", [])) for m in sent())
    )
    await setup.channel.stop()

    assert place.startswith("D")
    assert pressed.place == typed.place == target
    assert not setup.can_press(message)
    assert setup.server.state.whispers == []


async def test_a_thread_is_written_to(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """A prompt for a thread is in it, and a press there is answered there."""
    root = setup.server.state.typed(CHANNEL, BOB, "the deployment")["ts"]
    await setup.channel.start(inbox)
    message = await setup.channel.post(
        Target("slack", CHANNEL, thread=root), build_prompt(approval())
    )
    await setup.press(message, ApprovalReply.DENY)
    await setup.sees("Allowed once")
    await setup.channel.stop()

    assert setup.sent(message)["thread_ts"] == root
    assert inbox.got[0].place == Target("slack", CHANNEL, thread=root)
    assert setup.server.state.whispers[0]["thread_ts"] == root


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B0OTHER01"},
        {"app_id": "A0OTHER01"},
        {"user": "U0SAYSO01"},
        {"subtype": "message_changed"},
        {"subtype": "bot_message"},
    ],
    ids=["bot", "app", "ourselves", "edit", "bot message"],
)
async def test_words_that_no_member_typed_answer_nothing(
    setup: SlackWorkspace, inbox: RecordingInbox, more: dict[str, object]
) -> None:
    """Bots, apps, edits and our own messages are acknowledged and ignored."""
    await setup.channel.start(inbox)
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q allow-once", event=more)
    await setup.server.until(lambda: event.acked)
    await setup.channel.stop()

    assert inbox.got == []


async def test_a_foreign_button_is_told(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """A button of an earlier version, or a foreign one, decides nothing and says so."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    for button in (
        {"action_id": "approval:allow-once", "value": ID, "block_id": f"approval:{ID}"},
        {"action_id": f"o:{ID}x"},
        {"action_id": f"f:{ID}"},
    ):
        await setup.server.people.press_action(setup.sent(message), CHANNEL, ANA, button)
    await inbox.take(3)
    await setup.sees("This button is from another version of Sayso")
    await setup.channel.stop()

    assert all(isinstance(inbound.command, Malformed) for inbound in inbox.got)


async def test_a_refusal_is_told_to_that_member_alone(setup: SlackWorkspace) -> None:
    """Bob, who may not answer, gets a note that only he sees; the prompt is unchanged."""
    inbox = CountingInbox()
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    before = dict(setup.sent(message))
    await setup.server.people.press(CHANNEL, ts_of(message), BOB, LABELS[ApprovalReply.ALLOW_ONCE])
    await setup.sees("You may not answer this.")
    await setup.channel.stop()

    (note,) = setup.server.state.whispers
    assert (note["channel"], note["user"]) == (CHANNEL, BOB)
    assert setup.sent(message) == before
    assert len(setup.server.state.places[CHANNEL].messages) == 1


async def test_calls_that_fail_are_told_though_the_socket_is_up(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The channel's health reports it, and that it is over."""
    await setup.channel.start(inbox)
    before = await setup.channel.check()
    setup.server.faults.add(Fault(FaultKind.STATUS, "auth.test", 503))
    failing = await setup.channel.check()
    after = await setup.channel.check()
    await setup.channel.stop()

    assert [before.ok, failing.ok, after.ok] == [True, False, True], failing.detail
    assert "listening" not in failing.detail
