"""Set up Ana, her phone, and a bot at a local Bot API server."""

from dataclasses import dataclass, field

from channels.base import Channel
from channels.telegram.channel import TelegramChannel
from channels.telegram.settings import TelegramSettings
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.emulators.telegram import TelegramServer
from tests.support.ports import free_port

CHAT = 100
GROUP = -1001
SECRET = "Xk3_9-not-a-real-secret-of-any-webhook"
ANA = 42
_LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Always allow…",
    ApprovalReply.DENY: "Deny",
}
_SHORT_LABELS = dict(zip(ApprovalReply, ("once", "always…", "deny"), strict=True))


def channel_for(server: TelegramServer, token: str = "", **more: object) -> TelegramChannel:
    """Return a channel that differs from production only in its base URL."""
    section = {"token": token or server.state.token, "apiBaseUrl": server.url, "pollTimeout": 5}
    return TelegramChannel(TelegramSettings.model_validate({**section, **more}))


def webhook_channel_for(server: TelegramServer) -> TelegramChannel:
    """Return a channel that Telegram delivers to."""
    listen = f"127.0.0.1:{free_port()}"
    webhook = {"url": f"http://{listen}/telegram/updates", "listen": listen, "secret": SECRET}
    return channel_for(server, mode="webhook", webhook=webhook)


@dataclass(slots=True)
class TelegramUsers:
    """Ana at her phone."""

    server: TelegramServer
    channel: Channel
    target: Target = field(default_factory=lambda: Target("telegram", str(CHAT)))
    account: str = str(ANA)

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a button."""
        await self.server.press(CHAT, int(message), ANA, _LABELS[reply])

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press the button of one prompt of several, or of the only one."""
        try:
            await self.press(message, reply)
        except LookupError:
            await self.server.press(CHAT, int(message), ANA, f"{code} {_SHORT_LABELS[reply]}")

    async def slash(self, text: str) -> None:
        """Type a command, which Telegram sends like any message."""
        await self.type(text)

    async def reply(self, message: str, text: str) -> None:
        """Reply to a message."""
        await self.server.say(CHAT, ANA, text, reply_to=int(message))

    async def press_label(self, message: str, label: str) -> None:
        """Press the button with this label."""
        await self.server.press(CHAT, int(message), ANA, label)

    async def press_choice(self, label: str) -> None:
        """Press a choice in the newest message that offers it, once there is one."""
        await self.server.until(lambda: label in self.offered())
        await self.server.press_choice(CHAT, ANA, label)

    def offered(self) -> list[str]:
        """Return the labels of all buttons in the chat."""
        markups = [one.get("reply_markup", {}) for one in self.server.messages(CHAT)]
        rows = [row for markup in markups for row in markup.get("inline_keyboard", [])]
        return [button["text"] for row in rows for button in row]

    async def type(self, text: str) -> None:
        """Type a message."""
        await self.server.say(CHAT, ANA, text)

    async def sees(self, words: str) -> None:
        """Wait for a note over a button, or for a message of the bot."""
        await self.server.until(lambda: any(words in text for text in self.seen()))

    async def shows(self, message: str, words: str) -> None:
        """Wait until a message has these words."""
        shown = self.server.state.message(CHAT, int(message))
        await self.server.until(lambda: words in shown["text"])

    def can_press(self, message: str) -> bool:
        """Return whether a message has buttons."""
        return "reply_markup" in self.server.state.message(CHAT, int(message))

    def seen(self) -> list[str]:
        """Return what the bot let Ana read."""
        notes = [press.text for press in self.server.state.presses.values() if press.text]
        mine = [one["text"] for one in self.server.messages(CHAT) if one["from"]["is_bot"]]
        return notes + mine
