"""Keep the contract of a real platform on the in-process channel."""

import pytest

from channels.cards.build import build_prompt
from channels.memory import MemoryChannel
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId, Target
from tests.channels.memory_setup import PERSON, MemorySetup
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import approval, plan
from tests.contracts.channel_setup import RecordingInbox


class TestMemory(ChannelContract):
    """The contract, on the in-process channel."""

    @pytest.fixture
    def setup(self) -> MemorySetup:
        """Return an empty channel."""
        return MemorySetup()

    async def test_allow_always_without_a_promise_has_no_button(self) -> None:
        """If nothing would be stored, allow-always cannot be pressed."""
        channel = MemoryChannel()
        message = await channel.post(Target("memory", "desk"), build_prompt(approval(promise=())))

        with pytest.raises(ChannelError, match="no button allow-always"):
            await channel.press(message, ApprovalReply.ALLOW_ALWAYS, PERSON)

    async def test_an_empty_command_can_only_be_denied(self) -> None:
        """Nothing that shows nothing can be allowed."""
        channel = MemoryChannel()
        card = build_prompt(approval(plan(text="")))
        message = await channel.post(Target("memory", "desk"), card)

        assert channel.shown[message].buttons == (ApprovalReply.DENY,)

    async def test_the_prompt_of_a_message_is_its_only_one(self) -> None:
        """A message of several prompts has no single one; nor has one without any."""
        channel = MemoryChannel()
        card = build_prompt(approval())
        message = channel.shown[await channel.post(Target("memory", "desk"), card)]
        assert message.prompt == card

        message.prompts[ApprovalId("another")] = card
        assert message.prompt is None
        message.prompts.clear()
        assert message.prompt is None

    async def test_a_bare_yes_counts_only_as_a_reply(self, inbox: RecordingInbox) -> None:
        """``yes`` alone is talk; as a reply to a prompt it is an answer."""
        channel = MemoryChannel()
        await channel.start(inbox)
        place = Target("memory", "desk")
        message = await channel.post(place, build_prompt(approval()))

        assert await channel.say(place, "yes", PERSON) is None
        assert await channel.say(place, "yes", PERSON, to=message) is not None
        assert inbox.got[0].replied_to == message
