"""Offer the three platforms alike: places, copies to read, buttons, broken connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from bot.app import Gateway, gateway
from bot.settings import load
from core.model.identity import Target
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import GUILD
from tests.emulators.faults import Fault, FaultKind, FaultQueue
from tests.emulators.slack import SlackServer
from tests.emulators.slack_state import Place
from tests.emulators.telegram import TelegramServer
from tests.support.prompt_copies import Copy, from_discord, from_slack, from_telegram

_CHANNELS = 720_000_000_000_000_000
POSTS = {"slack": "chat.postMessage", "telegram": "sendMessage", "discord": "createMessage"}
EDITS = {"slack": "chat.update", "telegram": "editMessageText", "discord": "editMessage"}


class Platform(Protocol):
    """One platform, as these tests need it."""

    name: str

    @property
    def faults(self) -> FaultQueue:
        """Return the faults to come."""

    def section(self) -> dict[str, Any]:
        """Return the settings of its channel."""

    def place(self, number: int) -> Target:
        """Return a conversation of its own, which has a platform's rate to itself."""

    def copies(self, place: Target) -> list[Copy]:
        """Return the bot's messages there, oldest first."""

    async def press(self, copy: Copy, button: str) -> bool:
        """Press a button as Ana; ``False``: she saw that it failed."""

    async def cut(self) -> None:
        """Cut the connection on which answers arrive."""

    def forget_dedupe(self) -> None:
        """Take away what keeps a repeated message from becoming a second one."""


@dataclass(slots=True)
class SlackPlatform:
    """Slack."""

    server: SlackServer = field(default_factory=SlackServer)
    name: str = "slack"

    @property
    def faults(self) -> FaultQueue:
        """Return the faults to come."""
        return self.server.faults

    def section(self) -> dict[str, Any]:
        """Return the settings of its channel."""
        state = self.server.state
        tokens = {"botToken": state.bot_token, "appToken": state.app_token}
        more = {"approvers": [slack.ANA], "pingInterval": 0.2}
        return tokens | {"apiBaseUrl": self.server.url} | more

    def place(self, number: int) -> Target:
        """Return a channel of its own."""
        name = f"C0{number:07d}"
        members = {slack.ANA, self.server.state.bot_user}
        self.server.state.places.setdefault(name, Place(name, members))
        return Target("slack", name)

    def copies(self, place: Target) -> list[Copy]:
        """Return the bot's messages there, oldest first."""
        messages = self.server.state.place(place.to).messages.values()
        bot = self.server.state.bot_user
        return [from_slack(place.to, one) for one in messages if one["user"] == bot]

    async def press(self, copy: Copy, button: str) -> bool:
        """Press a button as Ana."""
        pressed = await self.server.people.press(copy.place, copy.id, slack.ANA, button)
        return not pressed.failed

    async def cut(self) -> None:
        """Abort the sockets."""
        await self.server.delivery.hang_up("abort")

    def forget_dedupe(self) -> None:
        """Remove the scope that allows searching sent messages."""
        self.server.state.scopes.discard("channels:history")


@dataclass(slots=True)
class TelegramPlatform:
    """Telegram."""

    server: TelegramServer = field(default_factory=TelegramServer)
    name: str = "telegram"

    @property
    def faults(self) -> FaultQueue:
        """Return the faults to come."""
        return self.server.faults

    def section(self) -> dict[str, Any]:
        """Return the settings of its channel."""
        more = {"approvers": [telegram.ANA], "pollTimeout": 2}
        return {"token": self.server.state.token, "apiBaseUrl": self.server.url} | more

    def place(self, number: int) -> Target:
        """Return a private chat of its own."""
        return Target("telegram", str(1000 + number))

    def copies(self, place: Target) -> list[Copy]:
        """Return the bot's messages there, oldest first."""
        messages = self.server.messages(int(place.to))
        return [from_telegram(place.to, one) for one in messages if one["from"]["is_bot"]]

    async def press(self, copy: Copy, button: str) -> bool:
        """Press a button as Ana; Telegram keeps it."""
        await self.server.press(int(copy.place), int(copy.id), telegram.ANA, button)
        return True

    async def cut(self) -> None:
        """Break the next polls."""
        self.faults.add(Fault(FaultKind.DROP, "getUpdates"))

    def forget_dedupe(self) -> None:
        """Do nothing: Telegram offers nothing to take away."""


@dataclass(slots=True)
class DiscordPlatform:
    """Discord."""

    server: DiscordServer = field(default_factory=DiscordServer)
    name: str = "discord"

    @property
    def faults(self) -> FaultQueue:
        """Return the faults to come."""
        return self.server.faults

    def section(self) -> dict[str, Any]:
        """Return the settings of its channel."""
        more = {"approvers": [str(discord.ANA)]}
        return {"token": self.server.state.token, "apiBaseUrl": self.server.url} | more

    def place(self, number: int) -> Target:
        """Return a channel of its own."""
        known = self.server.state.guilds[GUILD]
        if _CHANNELS + number not in known:
            known.append(_CHANNELS + number)
        return Target("discord", str(_CHANNELS + number))

    def copies(self, place: Target) -> list[Copy]:
        """Return the bot's messages there, oldest first."""
        messages = self.server.messages(int(place.to))
        return [from_discord(place.to, one) for one in messages if one["author"]["bot"]]

    async def press(self, copy: Copy, button: str) -> bool:
        """Press a button as Ana; Discord replays it to a client that resumes."""
        await self.server.press(int(copy.place), int(copy.id), discord.ANA, button)
        return True

    async def cut(self) -> None:
        """Abort the gateway's sockets."""
        await self.server.gateway.abort()

    def forget_dedupe(self) -> None:
        """Make it forget nonces at once, and hide the channels' history."""
        self.server.state.nonce_seconds = 0.0
        self.server.state.unreadable.update(self.server.state.guilds[GUILD])


SIDES: dict[str, type[SlackPlatform | TelegramPlatform | DiscordPlatform]] = {
    "slack": SlackPlatform,
    "telegram": TelegramPlatform,
    "discord": DiscordPlatform,
}


def on_posts(side: Platform, fault: Fault, times: int = 1) -> None:
    """Make posts fail."""
    side.faults.add(replace(fault, method=POSTS[side.name]), times)


def on_edits(side: Platform, fault: Fault, times: int = 1) -> None:
    """Make edits fail."""
    side.faults.add(replace(fault, method=EDITS[side.name]), times)


@asynccontextmanager
async def serving(*names: str) -> AsyncIterator[list[Platform]]:
    """Run the servers of some platforms."""
    async with AsyncExitStack() as stack:
        sides = [SIDES[name]() for name in names]
        for side in sides:
            await stack.enter_async_context(side.server)
        yield list(sides)


def configure(home: Path, sides: list[Platform]) -> None:
    """Write a configuration that asks in the chat that a request came from."""
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "session", "timeout": 600}},
        "channels": {side.name: side.section() for side in sides},
    }
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


@asynccontextmanager
async def asking(home: Path) -> AsyncIterator[Gateway]:
    """Run a gateway."""
    async with gateway(load(home, environ={})) as running:
        yield running


def break_off() -> None:
    """End the outbox between two of its steps, as a crash does: nothing more is recorded."""
    for task in asyncio.all_tasks():
        if str(getattr(task.get_coro(), "__qualname__", "")).startswith("Outbox."):
            task.cancel()
