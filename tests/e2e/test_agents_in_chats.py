"""``/agent`` on the three platforms, to a real agent process of another user (S2)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.app import Gateway
from bot.executor_setup.archive import interpreter
from core.isolation.runtime import Runtime
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord_objects import BOT, CHANNEL
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import buttons, seen
from tests.support.agents import KEY, equip, workshop
from tests.support.executors import executors, installed
from tests.support.three_platforms import ThreePlatforms, three_platforms
from tests.support.waiting import until

PLACES = ("slack", "discord", "telegram")


@pytest.fixture(scope="module")
def path() -> Iterator[str]:
    """Yield the executor's file."""
    with installed() as made:
        yield made


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield the agents' folder."""
    with workshop() as found:
        yield found


@dataclass
class Chats:
    """The three platforms, and what stands in the thread of a prompt."""

    at: ThreePlatforms
    work: Path
    place: str
    written: str = ""

    async def give(self, text: str) -> None:
        """Have Ana write ``/agent main …`` as a message."""
        line = f"agent main {text}"
        match self.place:
            case "slack":
                bot = self.at.slack.state.bot_user
                await self.at.slack.people.say(slack.CHANNEL, slack.ANA, f"<@{bot}> {line}")
                self.written = max(self.at.slack.state.place(slack.CHANNEL).messages)
            case "discord":
                made = await self.at.discord.say(CHANNEL, discord.ANA, f"<@{BOT}> {line}")
                self.written = str(made["id"])
            case _:
                made = await self.at.telegram.say(telegram.CHAT, telegram.ANA, f"/{line}")
                self.written = str(made["message_id"])

    def thread(self) -> list[str]:
        """Return what the bot's messages in the thread say, or in reply to what was written."""
        match self.place:
            case "slack":
                found = self.at.slack.state.place(slack.CHANNEL).messages.values()
                below = [one for one in found if one.get("thread_ts") == self.written]
                return [seen(one["blocks"]) for one in below if one.get("blocks")]
            case "discord":
                return [one["content"] for one in self.at.discord.messages(int(self.written))]
            case _:
                found = self.at.telegram.messages(telegram.CHAT)
                return [one["text"] for one in found if _replies_to(one, self.written)]

    def ending(self) -> str:
        """Return the message whose first line says that the prompt ended."""
        words = (": completed (", ": cancelled (", ": failed: ", ": ended: ")
        return next((text for text in self.thread() if any(one in text for one in words)), "")

    async def press(self, label: str) -> None:
        """Press a button of the question that is open in the thread, once there is one."""
        match self.place:
            case "slack":
                messages = self.at.slack.state.place(slack.CHANNEL).messages

                def asked() -> list[str]:
                    below = [one for one in messages.values() if one.get("thread_ts")]
                    return [one["ts"] for one in below if buttons(one.get("blocks", []))]

                await until(asked)
                (ts,) = asked()
                assert messages[ts]["thread_ts"] == self.written
                await self.at.slack.people.press(slack.CHANNEL, ts, slack.ANA, label)
            case "discord":
                channel = int(self.written)

                def cards() -> list[int]:
                    found = self.at.discord.messages(channel)
                    return [int(one["id"]) for one in found if one["components"]]

                await until(cards)
                await self.at.discord.press(channel, cards()[0], discord.ANA, label)
            case _:

                def open_() -> list[int]:
                    found = self.at.telegram.messages(telegram.CHAT)
                    return [one["message_id"] for one in found if one.get("reply_markup")]

                await until(open_)
                await self.at.telegram.press(telegram.CHAT, open_()[0], telegram.ANA, label)


def _replies_to(message: dict[str, object], written: str) -> bool:
    to = message.get("reply_to_message")
    return isinstance(to, dict) and str(to["message_id"]) == written


def _sections(folder: Path) -> dict[str, object]:
    words = [interpreter(), "-I", str(folder / "agent.py")]
    runtime = {"command": words, "cwd": str(folder / "work")}
    return {
        "execution": {"runAsUnixUser": True},
        "agents": {"list": [{"id": "main", "runtime": runtime}]},
    }


@asynccontextmanager
async def with_agents(running: Gateway, path: str, folder: Path) -> AsyncIterator[None]:
    """Let a gateway's agents run in executors of the tests' user, started without sudo."""

    async def key_of(_service: str, _account: str) -> str:
        return KEY

    words = (interpreter(), "-I", str(folder / "agent.py"))
    env = {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"}
    runtime = Runtime(words, "anthropic", "http://127.0.0.1:9", "x-api-key", "", env)
    async with executors(path) as world:
        equip(running.gate, world, runtime, key_of)
        yield


@asynccontextmanager
async def chats(home: Path, path: str, folder: Path, place: str) -> AsyncIterator[Chats]:
    """Yield one platform of a gateway with an agent, whose questions go where a session is."""
    more = {"mode": "session", "targets": []}
    async with (
        three_platforms(home, _sections(folder), senders=True, **more) as at,
        with_agents(at.running, path, folder),
    ):
        yield Chats(at, folder / "work", place)


@pytest.mark.parametrize("place", PLACES)
async def test_a_prompt_and_its_question_in_one_thread(
    tmp_path: Path, path: str, folder: Path, place: str
) -> None:
    """What the agent asks is allowed in its thread; the last message has words and ending."""
    file = folder / "work" / f"from-{place}"
    async with chats(tmp_path, path, folder, place) as chat:
        await chat.give(f"write {file}")
        await chat.press("Allow once")
        await until(chat.ending)
        said = chat.ending()

    assert file.read_text() == "made by the agent\n"
    assert "main: completed (" in said
    assert "inputTokens 11, outputTokens 5" in said
    assert "yes-1" in said


@pytest.mark.parametrize("place", PLACES)
async def test_a_platform_that_is_away_gets_the_ending_from_the_next_gateway(
    tmp_path: Path, path: str, folder: Path, place: str
) -> None:
    """No message or edit gets through until the first gateway has stopped; nothing is lost."""
    async with chats(tmp_path, path, folder, place) as chat:
        server = getattr(chat.at, place)
        await chat.give("hang")
        await until(lambda: any("hanging" in text for text in chat.thread()))
        edits = {"slack": "chat.update", "discord": "editMessage", "telegram": "editMessageText"}
        for _ in range(50):
            server.faults.add(Fault(FaultKind.STATUS, edits[place], 503))
        gate = chat.at.running.gate
        (run_id,) = gate.running
        assert await gate.cancel(run_id, "enough")
        await gate.wait(run_id)
        await until(lambda: server.faults.struck)
        assert not chat.ending()
