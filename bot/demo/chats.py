"""Show a channel inside this process as chats, and pass on what is pressed and typed in them.

The chats are three places of one channel, so the gateway asks in each and ends each copy, as it
does on three platforms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from channels.base import Reply
from channels.cards.card import PromptCard
from channels.cards.lines import details, front
from channels.memory import MemoryChannel, ShownMessage, offered
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target

PLACES: Mapping[str, str] = MappingProxyType(
    {"telegram": "Telegram", "slack": "Slack", "discord": "Discord"}
)
"""The names of the fake chats, by place."""
LABELS: Mapping[ApprovalReply, str] = MappingProxyType(
    {
        ApprovalReply.ALLOW_ONCE: "Allow once",
        ApprovalReply.ALLOW_ALWAYS: "Always…",
        ApprovalReply.DENY: "Deny",
    }
)


@dataclass(slots=True)
class Chats:
    """The chats of one demo; ``person`` is the one who presses and types."""

    memory: MemoryChannel
    person: Actor
    replies: dict[str, Reply] = field(default_factory=dict)

    def messages(self, place: str) -> list[ShownMessage]:
        """Return what was posted in a chat, oldest first."""
        return [one for one in self.memory.shown.values() if one.target.to == place]

    async def press(self, place: str, message: str, code: str, reply: ApprovalReply) -> None:
        """Press a button of a prompt.

        Raises:
            ChannelError: this chat has no such button.
        """
        if not any(one.id == message for one in self.messages(place)):
            raise ChannelError(f"{PLACES[place]} has no message {message}.", permanent=True)
        self._keep(place, await self.memory.press(message, reply, self.person, code))

    async def choose(self, place: str, label: str) -> None:
        """Press a button of the newest reply.

        Raises:
            ChannelError: no reply has such a button.
        """
        target = Target(self.memory.name, place)
        self._keep(place, await self.memory.press_choice(target, label, self.person))

    async def say(self, place: str, text: str) -> None:
        """Type a message; one that is not a command gets no reply, as in any chat."""
        target = Target(self.memory.name, place)
        self._keep(place, await self.memory.say(target, text, self.person))

    def _keep(self, place: str, reply: Reply | None) -> None:
        if reply is None:
            self.replies.pop(place, None)
        else:
            self.replies[place] = reply

    def values(self, place: str) -> dict[str, object]:
        """Return the values for the template of a chat."""
        return {
            "messages": self.messages(place),
            "reply": self.replies.get(place),
            "front": front,
            "details": details,
            "buttons": _buttons,
        }


def _buttons(card: PromptCard) -> list[tuple[ApprovalReply, str]]:
    return [(reply, LABELS[reply]) for reply in offered(card)]
