"""Set up a terminal channel and its person."""

import contextlib
import os
from dataclasses import dataclass, field

from channels.base import Channel
from channels.terminal.channel import UNREAD_S, TerminalChannel
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.contracts.channel_examples import ID
from tests.support.waiting import until

_LETTERS = {
    ApprovalReply.ALLOW_ONCE: "a",
    ApprovalReply.ALLOW_ALWAYS: "A",
    ApprovalReply.DENY: "d",
}


@dataclass(slots=True)
class TerminalSetup:
    """A person at the other end of a pseudo-terminal."""

    master: int
    channel: Channel
    target: Target = field(default_factory=lambda: Target("terminal", "here"))
    screen: str = ""
    account: str = field(default_factory=lambda: f"uid:{os.getuid()}")
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Give the channel a clock that moves as the person reads."""
        assert isinstance(self.channel, TerminalChannel)
        self.channel.clock = lambda: self.seconds

    def read(self, seconds: float = UNREAD_S) -> None:
        """Look at the screen for some seconds."""
        self.seconds += seconds

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Type the letter of a button."""
        await self.type(_LETTERS[reply])

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Type a letter and the code of a prompt."""
        await self.type(f"{_LETTERS[reply]} {code}")

    async def slash(self, text: str) -> None:
        """Type a command."""
        await self.type(text)

    async def reply(self, message: str, text: str) -> None:
        """Type an answer to the one prompt that is open."""
        assert self.can_press(message)
        await self.type(text)

    async def press_choice(self, label: str) -> None:
        """Type what a choice means; a terminal has no second step."""
        await self.type(f"/approve {ID} {label.replace(' ', '')}")

    async def type(self, text: str) -> None:
        """Read what is shown, then type a line."""
        self.read()
        os.write(self.master, f"{text}\n".encode())

    async def sees(self, words: str) -> None:
        """Wait for words on the screen."""
        await until(lambda: words in self.look())

    async def shows(self, message: str, words: str) -> None:
        """Wait for words on the screen."""
        await self.sees(words)

    def can_press(self, message: str) -> bool:
        """Return whether a prompt is open."""
        assert isinstance(self.channel, TerminalChannel)
        return message in self.channel.open_messages()

    def look(self) -> str:
        """Return all that was ever shown, wrapped lines joined."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.screen += os.read(self.master, 65_536).decode()
        return self.screen.replace("\r\n", "\n")
