"""Set up a Slack workspace with a Sayso app and Ana in it, for the tests."""

import time
from dataclasses import dataclass, field, replace

from channels.base import Channel
from channels.slack.channel import SlackChannel
from channels.slack.settings import SlackSettings
from core.model.approval import Approval, ApprovalReply
from core.model.identity import Target
from tests.contracts.channel_examples import approval
from tests.emulators.slack import SlackServer
from tests.emulators.slack_delivery import Delivery
from tests.emulators.slack_rules import Json, buttons, seen, texts

CHANNEL = "C0OPS0001"
ANA, BOB = "U0ANA0001", "U0BOB0001"
LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Always allow…",
    ApprovalReply.DENY: "Deny",
}
SHORT_LABELS = dict(zip(ApprovalReply, ("once", "always…", "deny"), strict=True))


def settings_for(server: SlackServer, **more: object) -> SlackSettings:
    """Return settings that differ from production only in the base URL."""
    plain = {
        "botToken": server.state.bot_token,
        "appToken": server.state.app_token,
        "signingSecret": server.state.signing_secret,
        "apiBaseUrl": server.url,
        "pingInterval": 1.0,
    }
    return SlackSettings.model_validate(plain | more)


def channel_for(server: SlackServer, **more: object) -> SlackChannel:
    """Return a channel of a workspace."""
    return SlackChannel(settings_for(server, **more))


def boxed(blocks: list[Json]) -> list[str]:
    """Return the texts of preformatted boxes."""
    return [text for kind, text in texts(blocks) if kind == "text"]


def labels(blocks: list[Json]) -> list[str]:
    """Return the labels of the buttons in blocks."""
    return [button["text"]["text"] for button in buttons(blocks)]


def ts_of(message: str) -> str:
    """Return the timestamp in a message id."""
    return message.rpartition(":")[2]


@dataclass(slots=True)
class SlackWorkspace:
    """Ana at her phone."""

    server: SlackServer
    channel: Channel
    target: Target = field(default_factory=lambda: Target("slack", CHANNEL))
    account: str = ANA

    async def press(self, message: str, reply: ApprovalReply) -> Delivery:
        """Press a button."""
        return await self.server.people.press(CHANNEL, ts_of(message), ANA, LABELS[reply])

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press the button of one prompt of several, or of the only one."""
        try:
            await self.press(message, reply)
        except LookupError:
            label = f"{code} {SHORT_LABELS[reply]}"
            await self.server.people.press(CHANNEL, ts_of(message), ANA, label)

    async def slash(self, text: str) -> None:
        """Send a slash command."""
        await self.server.people.slash(CHANNEL, ANA, text)

    async def reply(self, message: str, text: str) -> None:
        """Reply in the thread of a message."""
        await self.server.people.say(CHANNEL, ANA, text, ts_of(message))

    async def choose(self, message: str, label: str) -> None:
        """Press "Always allow…", then the choice with this label."""
        await self.press(message, ApprovalReply.ALLOW_ALWAYS)
        await self.server.until(lambda: any(label in offered for offered in self.offered()))
        await self.press_choice(label)

    async def press_label(self, message: str, label: str) -> None:
        """Press the button with this label."""
        await self.server.people.press(CHANNEL, ts_of(message), ANA, label)

    async def press_choice(self, label: str) -> None:
        """Press the choice with this label, below the newest reply that offers it."""
        await self.server.people.press_choice(ANA, label)

    def offered(self) -> list[list[str]]:
        """Return the labels below each reply to Ana, privately or in direct messages."""
        direct = self.server.state.dm(ANA).messages.values()
        return [labels(one["blocks"]) for one in (*self.server.state.whispers, *direct)]

    async def type(self, text: str) -> None:
        """Type a line: a slash command if it begins with a slash, else a message."""
        if text.startswith("/"):
            await self.server.people.slash(CHANNEL, ANA, text)
        else:
            await self.server.people.say(CHANNEL, ANA, text)

    async def sees(self, words: str) -> None:
        """Wait for a note that only Ana sees."""
        await self.server.until(lambda: any(words in text for text in self.notes()))

    async def shows(self, message: str, words: str) -> None:
        """Wait until a message has these words."""
        await self.server.until(lambda: words in seen(self.sent(message)["blocks"]))

    def can_press(self, message: str) -> bool:
        """Return whether a message has buttons."""
        return bool(buttons(self.sent(message)["blocks"]))

    def sent(self, message: str) -> Json:
        """Return a message as the workspace keeps it."""
        channel, _, ts = message.partition(":")
        return self.server.state.message(channel, ts)

    def notes(self) -> list[str]:
        """Return what the bot let only one member read."""
        return [seen(note["blocks"]) for note in self.server.state.whispers]


def fresh() -> Approval:
    """Return an approval made just now, which no other gateway can have sent."""
    now = round(time.time() * 1000)
    return replace(approval(), created_ms=now, deadline_ms=now + 600_000)


def prompts(setup: SlackWorkspace, channel: str = CHANNEL) -> list[str]:
    """Return the timestamps of the bot's messages in a channel."""
    messages = setup.server.state.places[channel].messages.values()
    return [str(one["ts"]) for one in messages if one["user"] == setup.server.state.bot_user]
