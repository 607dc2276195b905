"""Put a Discord channel and the people around it together."""

from dataclasses import dataclass, field
from pathlib import Path

from channels.base import Channel
from channels.discord.channel import DiscordChannel
from channels.discord.settings import DiscordSettings
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT, CHANNEL, Json

ANA = 42
EVE = 66
LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Always allow…",
    ApprovalReply.DENY: "Deny",
}
SHORT_LABELS = dict(zip(ApprovalReply, ("once", "always…", "deny"), strict=True))
FIELDS = {"approve": ("id", "decision", "note"), "run": ("command",), "pair": ("code",)}


def channel_for(
    server: DiscordServer, session: Path | None = None, /, **more: object
) -> DiscordChannel:
    """Return a channel that differs from production only in its base URL."""
    settings = {"token": server.state.token, "apiBaseUrl": server.url, **more}
    return DiscordChannel(DiscordSettings.model_validate(settings), session)


@dataclass(slots=True)
class DiscordGuild:
    """Ana in a server's channel, where plain text must mention the bot."""

    server: DiscordServer
    channel: Channel
    target: Target = field(default_factory=lambda: Target("discord", str(CHANNEL)))
    account: str = str(ANA)

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Press a button."""
        await self.server.press(CHANNEL, int(message), ANA, LABELS[reply])

    async def press_label(self, message: str, label: str) -> None:
        """Press the button with this label."""
        await self.server.press(CHANNEL, int(message), ANA, label)

    async def press_choice(self, label: str) -> None:
        """Press a choice in the newest reply that offers it."""
        await self.server.until(lambda: self.server.offers(ANA, label))
        await self.server.choose(ANA, label)

    async def type(self, text: str) -> None:
        """Type a message that mentions the bot."""
        await self.server.say(CHANNEL, ANA, f"<@{BOT}> {text}")

    async def press_in(self, message: str, code: str, reply: ApprovalReply) -> None:
        """Press the button of one prompt of several, or of the only one."""
        try:
            await self.press(message, reply)
        except LookupError:
            await self.server.press(CHANNEL, int(message), ANA, f"{code} {SHORT_LABELS[reply]}")

    async def slash(self, text: str) -> None:
        """Fill in a registered command: its words are its fields, the last one takes the rest."""
        name, *words = text.removeprefix("/").split(" ")
        fields = FIELDS[name]
        given = (*words[: len(fields) - 1], " ".join(words[len(fields) - 1 :]))
        options = {field: word for field, word in zip(fields, given, strict=False) if word}
        await self.server.slash(CHANNEL, ANA, name, **options)

    async def reply(self, message: str, text: str) -> None:
        """Reply to a message, which pings the bot."""
        await self.server.say(CHANNEL, ANA, text, reply_to=int(message))

    async def sees(self, words: str) -> None:
        """Wait for a private note or a message of the bot."""
        await self.server.until(lambda: any(words in text for text in self.seen()))

    async def shows(self, message: str, words: str) -> None:
        """Wait until a message has these words."""
        shown = self.message(message)
        await self.server.until(lambda: words in shown["content"])

    def can_press(self, message: str) -> bool:
        """Return whether a message has buttons."""
        return bool(self.message(message)["components"])

    def message(self, message: str) -> Json:
        """Return a message of the channel."""
        return self.server.state.message(CHANNEL, int(message))

    def seen(self) -> list[str]:
        """Return what the bot let Ana read."""
        notes = [note for one in self.server.state.interactions.values() for note in one.notes]
        places = [self.server.messages(place) for place in self.server.state.channels]
        return notes + [one["content"] for place in places for one in place if one["author"]["bot"]]
