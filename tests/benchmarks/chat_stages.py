"""Let the stopwatch see each platform alike: its messages with buttons, presses and calls."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Protocol

from tests.benchmarks.chat_programs import Json
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_http import Pacing
from tests.emulators.discord_objects import CHANNEL, GUILD
from tests.emulators.faults import FaultQueue
from tests.emulators.slack import SlackServer
from tests.emulators.slack_rules import buttons
from tests.emulators.slack_state import Place, Rate
from tests.emulators.telegram import TelegramServer

PLACES = 60
Button = tuple[str, str, str]
"""A message's place, its id there, and what its first button sends."""


class Stage(Protocol):
    """A platform as the stopwatch sees it."""

    changed: asyncio.Condition
    faults: FaultQueue
    says: str
    shows: str

    @property
    def hello(self) -> Json:
        """Return what a bot needs to connect."""

    def unlimited(self) -> None:
        """Let the bot call as often as it can: for latencies, not for rates."""

    def open(self) -> list[Button]:
        """Return each message that has buttons."""

    def waits(self, button: Button) -> bool:
        """Return whether a message still has buttons."""

    def press(self, button: Button) -> Awaitable[object]:
        """Let Ana press a button."""

    def all_buttons(self) -> list[str]:
        """Return what each button of each message sends."""

    def calls(self) -> list[tuple[str, int]]:
        """Return what the bot called: method, HTTP status."""


@dataclass(slots=True)
class SlackStage:
    """A workspace with many channels."""

    server: SlackServer
    says: str = "chat.postMessage"
    shows: str = "chat.update"
    changed: asyncio.Condition = field(init=False)
    faults: FaultQueue = field(init=False)

    def __post_init__(self) -> None:
        self.faults = self.server.faults
        state = self.server.state
        self.changed = state.changed
        for number in range(PLACES):
            name = f"C0LOAD{number:03d}"
            state.places[name] = Place(name, {*state.members, state.bot_user})

    @property
    def hello(self) -> Json:
        """Return address, tokens and channels."""
        state = self.server.state
        tokens = {"botToken": state.bot_token, "appToken": state.app_token}
        places = [name for name in state.places if "LOAD" in name]
        return {"url": self.server.url, "tokens": tokens, "places": places, "person": slack.ANA}

    def unlimited(self) -> None:
        """Lift the limit of edits; messages go to many channels anyway."""
        self.server.state._rates["chat.update"] = Rate(10**9, 10**9, self.server.state.clock())

    def open(self) -> list[Button]:
        """Return each message that has buttons."""
        places = self.server.state.places.items()
        messages = [(name, one) for name, place in places for one in place.messages.values()]
        found = [(name, one["ts"], buttons(one.get("blocks", []))) for name, one in messages]
        return [(name, ts, row[0]["action_id"]) for name, ts, row in found if row]

    def waits(self, button: Button) -> bool:
        """Return whether a message still has buttons."""
        message = self.server.state.message(button[0], button[1])
        return bool(buttons(message.get("blocks", [])))

    async def press(self, button: Button) -> object:
        """Let Ana press a button."""
        place, ts, label = button
        return await self.server.people.press(place, ts, slack.ANA, label)

    def all_buttons(self) -> list[str]:
        """Return what each button of each message sends."""
        return [
            button["action_id"]
            for place in self.server.state.places.values()
            for message in place.messages.values()
            for button in buttons(message.get("blocks", []))
        ]

    def calls(self) -> list[tuple[str, int]]:
        """Return what the bot called."""
        return [(one.method, one.status) for one in self.server.calls]


@dataclass(slots=True)
class TelegramStage:
    """Many chats, a third of them groups."""

    server: TelegramServer
    says: str = "sendMessage"
    shows: str = "editMessageText"
    changed: asyncio.Condition = field(init=False)
    faults: FaultQueue = field(init=False)

    def __post_init__(self) -> None:
        self.faults = self.server.faults
        self.changed = self.server.state.changed

    @property
    def hello(self) -> Json:
        """Return address, token and chats."""
        groups = [str(-1000 - number) for number in range(PLACES // 3)]
        places = [str(1000 + number) for number in range(PLACES - len(groups))] + groups
        tokens = {"token": self.server.state.token}
        person = str(telegram.ANA)
        return {"url": self.server.url, "tokens": tokens, "places": places, "person": person}

    def unlimited(self) -> None:
        """Refuse nothing for exceeding a rate."""
        self.server.state.rates.on = False

    def open(self) -> list[Button]:
        """Return each message that has buttons."""
        found = []
        for chat, messages in self.server.state.chats.items():
            for number, one in messages.items():
                if one.get("reply_markup"):
                    first = one["reply_markup"]["inline_keyboard"][0][0]
                    found.append((str(chat), str(number), first["callback_data"]))
        return found

    def waits(self, button: Button) -> bool:
        """Return whether a message still has buttons."""
        message = self.server.state.message(int(button[0]), int(button[1]))
        return bool(message.get("reply_markup"))

    async def press(self, button: Button) -> object:
        """Let Ana press a button."""
        chat, message, label = button
        return await self.server.press(int(chat), int(message), telegram.ANA, label)

    def all_buttons(self) -> list[str]:
        """Return what each button of each message sends."""
        return [
            button["callback_data"]
            for messages in self.server.state.chats.values()
            for message in messages.values()
            for row in (message.get("reply_markup") or {}).get("inline_keyboard", [])
            for button in row
        ]

    def calls(self) -> list[tuple[str, int]]:
        """Return what the bot called."""
        return [(one.method, one.status) for one in self.server.calls]


@dataclass(slots=True)
class DiscordStage:
    """A server with many channels, each of which takes five messages in five seconds."""

    server: DiscordServer
    says: str = "createMessage"
    shows: str = "callback"
    changed: asyncio.Condition = field(init=False)
    faults: FaultQueue = field(init=False)

    def __post_init__(self) -> None:
        self.faults = self.server.faults
        state = self.server.state
        self.changed = state.changed
        self.server.buckets["createMessage"] = Pacing(5, 5.0)
        state.guilds[GUILD] += [CHANNEL + 1000 + number for number in range(PLACES)]

    @property
    def hello(self) -> Json:
        """Return address, token and channels."""
        places = [str(number) for number in self.server.state.guilds[GUILD][-PLACES:]]
        tokens = {"token": self.server.state.token}
        person = str(discord.ANA)
        return {"url": self.server.url, "tokens": tokens, "places": places, "person": person}

    def unlimited(self) -> None:
        """Refuse nothing for exceeding a rate."""
        self.server.buckets.clear()

    def open(self) -> list[Button]:
        """Return each message that has buttons."""
        found = []
        for channel in self.server.state.channels:
            for one in self.server.messages(channel):
                if one.get("components"):
                    first = one["components"][0]["components"][0]
                    found.append((str(channel), one["id"], first["custom_id"]))
        return found

    def waits(self, button: Button) -> bool:
        """Return whether a message still has buttons."""
        message = self.server.state.message(int(button[0]), int(button[1]))
        return bool(message.get("components"))

    async def press(self, button: Button) -> object:
        """Let Ana press a button."""
        channel, message, label = button
        return await self.server.press(int(channel), int(message), discord.ANA, label)

    def all_buttons(self) -> list[str]:
        """Return what each button of each message sends."""
        return [
            button["custom_id"]
            for channel in self.server.state.channels
            for message in self.server.messages(channel)
            for row in message.get("components", [])
            for button in row["components"]
        ]

    def calls(self) -> list[tuple[str, int]]:
        """Return what the bot called."""
        return [(one.method, one.status) for one in self.server.calls]
