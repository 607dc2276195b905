"""Ana, her phone, and a bot at a local Bot API server."""

from dataclasses import dataclass, field

from channels.base import Channel
from channels.telegram.channel import TelegramChannel
from channels.telegram.settings import TelegramSettings
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.emulators.telegram import TelegramServer

CHAT = 100
GROUP = -1001
ANA = 42
_LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Allow always",
    ApprovalReply.DENY: "Deny",
}


def channel_for(server: TelegramServer, token: str = "") -> TelegramChannel:
    """Return a channel that differs from production in its base URL only."""
    return TelegramChannel(
        TelegramSettings.model_validate(
            {"token": token or server.state.token, "apiBaseUrl": server.url, "pollTimeout": 5}
        )
    )


@dataclass(slots=True)
class TelegramWorld:
    """Ana at her phone."""

    server: TelegramServer
    channel: Channel
    target: Target = field(default_factory=lambda: Target("telegram", str(CHAT)))

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a button."""
        await self.server.press(CHAT, int(message), ANA, _LABELS[reply])

    async def type(self, text: str) -> None:
        """Type a message."""
        await self.server.say(CHAT, ANA, text)

    async def told(self, words: str) -> None:
        """Wait for a note over a button, or for a message of the bot."""
        await self.server.until(lambda: any(words in text for text in self.seen()))

    async def shows(self, message: str, words: str) -> None:
        """Wait until a message has these words."""
        shown = self.server.state.message(CHAT, int(message))
        await self.server.until(lambda: words in shown["text"])

    def can_press(self, message: str) -> bool:
        """Say whether a message has buttons."""
        return "reply_markup" in self.server.state.message(CHAT, int(message))

    def seen(self) -> list[str]:
        """Return what the bot let Ana read."""
        notes = [press.text for press in self.server.state.presses.values() if press.text]
        mine = [one["text"] for one in self.server.messages(CHAT) if one["from"]["is_bot"]]
        return notes + mine
