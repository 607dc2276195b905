"""Set up a memory channel and its people."""

from dataclasses import dataclass, field

from channels.base import Channel
from channels.cards.lines import facts
from channels.memory import MemoryChannel
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target
from tests.support.waiting import until

PERSON = Actor("memory", "ana", "Ana")


@dataclass(slots=True)
class MemorySetup:
    """A person who looks at the channel's own list."""

    memory: MemoryChannel = field(default_factory=MemoryChannel)
    target: Target = field(default_factory=lambda: Target("memory", "desk"))
    account: str = PERSON.account

    @property
    def channel(self) -> Channel:
        """Return the channel."""
        return self.memory

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a button."""
        await self.memory.press(message, reply, PERSON)

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press the button of one prompt of several, or of the only one."""
        await self.memory.press(message, reply, PERSON, code)

    async def slash(self, text: str) -> None:
        """Type a command."""
        await self.type(text)

    async def reply(self, message: str, text: str) -> None:
        """Reply to a message."""
        await self.memory.say(self.target, text, PERSON, to=message)

    async def press_choice(self, label: str) -> None:
        """Press a button under a reply."""
        await self.memory.press_choice(self.target, label, PERSON)

    async def type(self, text: str) -> None:
        """Type a message."""
        await self.memory.say(self.target, text, PERSON)

    async def sees(self, words: str) -> None:
        """Wait for a reply."""
        await until(lambda: any(words in reply.text.text for reply in self.memory.replies))

    async def shows(self, message: str, words: str) -> None:
        """Look at a message."""
        shown = self.memory.shown[message]
        texts = [card.headline.text for card in shown.outcomes.values()]
        texts += [card.code for card in shown.prompts.values()]
        texts += [one.value.text for card in shown.prompts.values() for one in facts(card)]
        texts += [card.text.text for card in [shown.notice] if card]
        assert any(words in text for text in texts)

    def can_press(self, message: str) -> bool:
        """Return whether buttons are left."""
        return bool(self.memory.shown[message].buttons)
