"""Test the Telegram channel: the real library against a local Bot API server."""

from dataclasses import dataclass

import pytest

from channels.base import Reply
from channels.cards.build import build_outcome, build_prompt
from channels.commands import Approve, BareReply, Malformed
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.text.render import redact
from tests.channels.telegram.bot_and_user import ANA, CHAT, GROUP, TelegramUsers
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import ChannelSetup, RecordingInbox
from tests.contracts.node_notices import NodeNoticeContract


class TestTelegram(ChannelContract):
    """The contract, on the real python-telegram-bot."""

    def thread_parent(self, setup: ChannelSetup) -> Target:
        """Return a group with topics."""
        assert isinstance(setup, TelegramUsers)
        setup.server.state.forums[GROUP] = {}
        return Target("telegram", str(GROUP))


async def test_update_of_the_message_carries_no_buttons_and_no_preview(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Previews are off in prompts and edits."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    outcome = build_outcome(approval(resolution=resolved()))
    await setup.channel.update(setup.target, message, outcome)
    await setup.channel.stop()

    writing = [call for call in setup.server.calls if call.method in _WRITING]
    assert [call.method for call in writing] == ["sendMessage", "editMessageText"]
    for call in writing:
        assert '"is_disabled": true' in call.parameters["link_preview_options"]
        assert "parse_mode" not in call.parameters


_WRITING = {"sendMessage", "editMessageText"}


async def test_allow_always_has_a_button_only_with_a_promise(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Without anything to store there are two buttons."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval(promise=())))
    await setup.channel.stop()

    row = setup.server.state.message(CHAT, int(message))["reply_markup"]["inline_keyboard"][0]
    assert [button["text"] for button in row] == ["Allow once", "Deny"]


async def test_a_bare_reply_to_the_prompt_is_an_answer(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """``no: use staging`` as a reply to a prompt is a denial; elsewhere it is talk."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.server.say(CHAT, ANA, "no: use staging")
    await setup.server.say(CHAT, ANA, "deny because it is live", reply_to=int(message))

    (inbound,) = await inbox.take()
    await setup.channel.stop()

    assert inbound.command == BareReply(ApprovalReply.DENY, "it is live")
    assert inbound.replied_to == message


@pytest.mark.parametrize(
    "extra",
    [
        {"from": {"id": 7, "is_bot": True, "first_name": "Other bot"}},
        {"sender_chat": {"id": -5, "type": "channel", "title": "News"}},
        {"via_bot": {"id": 7, "is_bot": True, "first_name": "Inline"}},
        {"sender_business_bot": {"id": 7, "is_bot": True, "first_name": "Secretary"}},
        {
            "forward_origin": {
                "type": "user",
                "date": 1,
                "sender_user": {"id": 9, "is_bot": False, "first_name": "Eve"},
            }
        },
    ],
    ids=["bot", "channel", "inline bot", "business bot", "forwarded"],
)
async def test_words_that_their_sender_did_not_write_answer_nothing(
    setup: TelegramUsers, inbox: RecordingInbox, extra: dict[str, object]
) -> None:
    """Bots, channels, inline bots and forwarded messages are ignored."""
    await setup.channel.start(inbox)
    await setup.server.say(CHAT, ANA, "/approve 7K3F9Q allow-once", **extra)
    await setup.server.say(CHAT, ANA, "/approve 7K3F9Q deny")

    (inbound,) = await inbox.take()
    await setup.channel.stop()

    assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)


async def test_a_command_for_another_bot_is_not_ours(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """``/approve@other_bot`` is ignored, ``/approve@us`` counts."""
    await setup.channel.start(inbox)
    await setup.server.say(GROUP, ANA, "/approve@other_bot 7K3F9Q allow-once")
    await setup.server.say(GROUP, ANA, "/approve@Sayso_Test_Bot 7K3F9Q deny")

    (inbound,) = await inbox.take()
    await setup.channel.stop()

    assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY)
    assert inbound.place == Target("telegram", str(GROUP))


async def test_a_forum_topic_is_written_to_and_heard(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """A prompt goes to its topic, and an answer there comes from it."""
    setup.server.state.forums[GROUP] = {5: "Deployments"}
    topic = Target("telegram", str(GROUP), thread="5")
    await setup.channel.start(inbox)
    message = await setup.channel.post(topic, build_prompt(approval()))
    extra = {"message_thread_id": 5, "is_topic_message": True}
    await setup.server.say(GROUP, ANA, "/approve 7K3F9Q perhaps", **extra)

    (inbound,) = await inbox.take()
    await setup.server.until(lambda: len(setup.server.messages(GROUP)) == 3)
    await setup.channel.stop()

    assert inbound.place == topic
    assert setup.server.state.message(GROUP, int(message))["message_thread_id"] == 5
    assert setup.server.messages(GROUP)[-1]["message_thread_id"] == 5


async def test_foreign_callback_data_is_told(setup: TelegramUsers, inbox: RecordingInbox) -> None:
    """A button that we did not make decides nothing and says so."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    sent = setup.server.state.message(CHAT, int(message))
    query = setup.server.state.press_data(sent, ANA, f"a1|o|{ID}x")
    await setup.server.state.notify()

    (inbound,) = await inbox.take()
    await setup.server.until(lambda: setup.server.state.presses[query].answered)
    await setup.channel.stop()

    assert isinstance(inbound.command, Malformed)
    press = setup.server.state.presses[query]
    assert press.alert
    assert press.text is not None
    assert "another version" in press.text


async def test_a_long_reply_to_a_press_is_cut_there_and_sent_whole(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """A note over a button holds 200 characters; the rest is not lost."""
    words = "already decided " * 20

    @dataclass
    class Talkative:
        async def receive(self, inbound: object) -> Reply:
            return Reply(redact(words))

    await setup.channel.start(Talkative())
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)
    await setup.sees(words.strip())
    await setup.channel.stop()

    (press,) = setup.server.state.presses.values()
    assert press.text is not None
    assert press.text.endswith("…")


async def test_a_press_on_a_message_too_old_to_be_shown_is_answered(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Telegram then names the chat and the message alone (Bot API InaccessibleMessage)."""
    setup.server.state.query_seconds = 0
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    old = {"chat": setup.server.state.chat(CHAT), "message_id": int(message), "date": 0}
    setup.server.state.press_data(old, ANA, f"p|d:{ID}")
    await setup.server.state.notify()

    (inbound,) = await inbox.take()
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()

    assert (Approve(ID, ApprovalReply.DENY), message) == (inbound.command, inbound.replied_to)


async def test_a_reply_without_words_says_so(setup: TelegramUsers) -> None:
    """A command that printed nothing has an empty tail; Telegram takes no empty message."""

    @dataclass
    class Silent:
        async def receive(self, inbound: object) -> Reply:
            return Reply(redact(""))

    await setup.channel.start(Silent())
    await setup.type("/tail 7K3F9Q")
    await setup.sees("(nothing)")
    await setup.channel.stop()


class TestTelegramNodeNotices(NodeNoticeContract):
    """A node that asks to be paired, in Telegram."""
