"""Be one of the platforms in a process of its own, with a stopwatch beside its people.

``python -m tests.benchmarks.chat_platform slack|telegram|discord``; then one JSON line each:
``press`` (press open buttons one after the other and time each), ``open`` (count the messages with
buttons), ``shown`` (the prompts that have buttons), ``calls`` (what the bot called since the last
``forget``: when, what, status), ``unlimited`` (no rates), ``delay`` (answer messages later).
"""

import asyncio
import re
import sys
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Protocol

from tests.benchmarks.chat_programs import Json, serve
from tests.channels.discord import world as discord
from tests.channels.slack import world as slack
from tests.channels.telegram import world as telegram
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_http import Pacing
from tests.emulators.discord_objects import CHANNEL, GUILD
from tests.emulators.faults import Fault, FaultKind, FaultQueue
from tests.emulators.slack import SlackServer
from tests.emulators.slack_rules import buttons
from tests.emulators.slack_state import Place, Rate
from tests.emulators.telegram import TelegramServer

PLACES = 60
_PATIENCE_S = 20.0
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")
Button = tuple[str, str, str]
"""Where a message is, which one it is there, and what its first button sends."""


class Stage(Protocol):
    """A platform as the stopwatch sees it."""

    changed: asyncio.Condition
    faults: FaultQueue
    says: str

    @property
    def hello(self) -> Json:
        """Return what a bot needs to connect."""

    def unlimited(self) -> None:
        """Let the bot call as often as it can: for latencies, not for rates."""

    def open(self) -> list[Button]:
        """Return each message that has buttons."""

    def waits(self, button: Button) -> bool:
        """Say whether a message still has buttons."""

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
        self.server.state._rates["chat.update"] = Rate(10**9, 10**9)

    def open(self) -> list[Button]:
        """Return each message that has buttons."""
        places = self.server.state.places.items()
        messages = [(name, one) for name, place in places for one in place.messages.values()]
        found = [(name, one["ts"], buttons(one.get("blocks", []))) for name, one in messages]
        return [(name, ts, row[0]["action_id"]) for name, ts, row in found if row]

    def waits(self, button: Button) -> bool:
        """Say whether a message still has buttons."""
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
        """Refuse nothing for its haste."""
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
        """Say whether a message still has buttons."""
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
    changed: asyncio.Condition = field(init=False)
    faults: FaultQueue = field(init=False)

    def __post_init__(self) -> None:
        self.faults = self.server.faults
        state = self.server.state
        self.changed = state.changed
        self.server.pacing = Pacing(5, 5.0)
        state.guilds[GUILD] += [CHANNEL + 1000 + number for number in range(PLACES)]

    @property
    def hello(self) -> Json:
        """Return address, token and channels."""
        places = [str(number) for number in self.server.state.guilds[GUILD][-PLACES:]]
        tokens = {"token": self.server.state.token}
        person = str(discord.ANA)
        return {"url": self.server.url, "tokens": tokens, "places": places, "person": person}

    def unlimited(self) -> None:
        """Refuse nothing for its haste."""
        self.server.pacing = None

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
        """Say whether a message still has buttons."""
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


@dataclass(slots=True)
class Stopwatch:
    """Press, and note when each call was answered."""

    stage: Stage
    _times: list[float] = field(default_factory=list)
    _from: int = 0

    async def watch(self) -> None:
        """Note the time of each call, as it is answered."""
        while True:
            async with self.stage.changed:
                await self.stage.changed.wait()
            now = time.monotonic()
            self._times += [now] * (len(self.stage.calls()) - len(self._times))

    async def handle(self, asked: Json) -> object:
        """Carry out one line."""
        match asked["do"]:
            case "press":
                return await self._press_all(int(asked["count"]), float(asked["pause"]))
            case "open":
                return len(self.stage.open())
            case "shown":
                return sorted(
                    {one for data in self.stage.all_buttons() for one in _ID.findall(data)}
                )
            case "delay":
                delay = Fault(FaultKind.DELAY, self.stage.says, seconds=float(asked["seconds"]))
                self.stage.faults.add(delay, int(asked["times"]))
            case "forget":
                self._from = len(self.stage.calls())
            case "unlimited":
                self.stage.unlimited()
            case "calls":
                calls = self.stage.calls()[: len(self._times)]
                timed = list(zip(self._times, calls, strict=True))[self._from :]
                return [[at, *call] for at, call in timed]
        return True

    async def _press_all(self, count: int, pause: float) -> list[tuple[float, float]]:
        """Press so many buttons, one after the other; return when, and when each was edited."""
        waiting = self.stage.open()[:count]
        assert count == len(waiting)
        times = []
        for button in waiting:
            times.append(await self._press(button))
            await asyncio.sleep(pause)
        return times

    async def _press(self, button: Button) -> tuple[float, float]:
        begun = time.monotonic()
        pressing = asyncio.ensure_future(self.stage.press(button))
        async with asyncio.timeout(_PATIENCE_S), self.stage.changed:
            await self.stage.changed.wait_for(lambda: not self.stage.waits(button))
            edited = time.monotonic()
        await pressing
        return begun, edited


async def main(name: str) -> None:
    """Run one platform until the input ends."""
    async with AsyncExitStack() as stack:
        stage: Stage
        match name:
            case "slack":
                stage = SlackStage(await stack.enter_async_context(SlackServer()))
            case "telegram":
                stage = TelegramStage(await stack.enter_async_context(TelegramServer()))
            case _:
                stage = DiscordStage(await stack.enter_async_context(DiscordServer()))
        watch = Stopwatch(stage)
        watching = asyncio.create_task(watch.watch())
        await serve(stage.hello, watch.handle)
        watching.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
