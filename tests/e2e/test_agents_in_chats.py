"""``/agent`` works on the three platforms, with a real agent process of another user (S2)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.app import Gateway, gateway
from bot.executor_setup.archive import interpreter
from bot.settings import load
from core.isolation.agents.runtime import Runtime
from core.store.sessions import agent_threads
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord_objects import BOT, CHANNEL, THREAD
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack_rules import buttons, seen
from tests.support.agents import KEY, equip, workshop
from tests.support.executors import executors
from tests.support.three_platforms import ThreePlatforms, three_platforms
from tests.support.waiting import until

PLACES = ("slack", "discord", "telegram")
_THREADS = {THREAD}
ONE_PLACE = ("telegram", *(pytest.param(place, marks=pytest.mark.deep) for place in PLACES[:2]))
"""For tests that depend little on the platform."""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield the agents' folder."""
    with workshop() as found:
        yield found


@dataclass
class Chats:
    """The three platforms, and what the thread of a prompt contains."""

    at: ThreePlatforms
    place: str
    written: str = ""

    async def give(self, text: str) -> "Chats":
        """Have Ana write ``/agent main …`` as a message; return what appears below it."""
        return replace(self, written=await self.write(f"agent main {text}"))

    async def write(self, line: str) -> str:
        """Have Ana write a command as a message; return the message's id."""
        match self.place:
            case "slack":
                await self.at.slack.people.say(slack.CHANNEL, slack.ANA, f"@sayso {line}")
                return max(self.at.slack.state.place(slack.CHANNEL).messages)
            case "discord":
                made = await self.at.discord.say(CHANNEL, discord.ANA, f"<@{BOT}> {line}")
                return str(made["id"])
            case _:
                made = await self.at.telegram.say(telegram.CHAT, telegram.ANA, f"/{line}")
                return str(made["message_id"])

    def thread(self) -> list[str]:
        """Return what the bot's messages in the thread, or its replies, say."""
        match self.place:
            case "slack":
                found = self.at.slack.state.place(slack.CHANNEL).messages.values()
                below = [one for one in found if one.get("thread_ts") == self.written]
                return [seen(one["blocks"]) for one in below if one.get("blocks")]
            case "discord":
                return [one["content"] for one in self.at.discord.messages(int(self.written))]
            case _:
                told = self.at.telegram.messages(telegram.CHAT)
                return [one["text"] for one in told if _replies_to(one, self.written)]

    def replies(self) -> str:
        """Return everything that a person was answered."""
        match self.place:
            case "slack":
                return repr(self.at.slack.state.answers.whispers)
            case "discord":
                return repr(self.at.discord.messages(CHANNEL))
            case _:
                return repr(self.at.telegram.messages(telegram.CHAT))

    def ending(self) -> str:
        """Return the message whose first line says that the prompt ended."""
        words = (": completed (", ": cancelled, ", ": failed: ", ": ended: ")
        return next((text for text in self.thread() if any(one in text for one in words)), "")

    def asked(self) -> list[str]:
        """Return the messages in the thread, or the chat, that have buttons."""
        match self.place:
            case "slack":
                found = self.at.slack.state.place(slack.CHANNEL).messages.values()
                below = [one for one in found if one.get("thread_ts") == self.written]
                return [one["ts"] for one in below if buttons(one.get("blocks", []))]
            case "discord":
                told = self.at.discord.messages(int(self.written))
                return [one["id"] for one in told if one["components"]]
            case _:
                told = self.at.telegram.messages(telegram.CHAT)
                return [str(one["message_id"]) for one in told if one.get("reply_markup")]

    async def press(self, label: str) -> None:
        """Press a button of the question that is open in the thread, once there is one."""
        await until(self.asked)
        (card,) = self.asked()
        match self.place:
            case "slack":
                await self.at.slack.people.press(slack.CHANNEL, card, slack.ANA, label)
            case "discord":
                await self.at.discord.press(int(self.written), int(card), discord.ANA, label)
            case _:
                await self.at.telegram.press(telegram.CHAT, int(card), telegram.ANA, label)


def _replies_to(message: dict[str, object], written: str) -> bool:
    to = message.get("reply_parameters")
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
async def chats(
    home: Path,
    path: str,
    folder: Path,
    place: str,
    servers: AsyncExitStack | None = None,
    *,
    senders: bool = True,
    within_s: int = 60,
) -> AsyncIterator[Chats]:
    """Yield one platform of a gateway with an agent, whose questions go to its session's place.

    If ``servers`` are given, the platforms keep running there.
    """
    more: dict[str, Any] = {"mode": "session", "targets": [], "timeout": within_s}
    sections = _sections(folder)
    async with (
        three_platforms(home, sections, senders=senders, servers=servers, **more) as at,
        with_agents(at.running, path, folder),
    ):
        yield Chats(at, place)


@pytest.mark.parametrize("place", PLACES)
async def test_a_prompt_and_its_question_in_one_thread(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """The agent's question is allowed in its thread; the last message has words and ending."""
    file = folder / "work" / f"from-{place}"
    async with chats(tmp_path, executor_path, folder, place) as chat:
        given = await chat.give(f"write {file}")
        await given.press("Allow once")
        await until(given.ending)
        said = given.ending()

    assert file.read_text() == "made by the agent\n"
    assert "main: completed (" in said
    assert "inputTokens 11, outputTokens 5" in said
    assert "yes-1" in said


@pytest.mark.slow
@pytest.mark.parametrize("place", ONE_PLACE)
async def test_denied_stopped_and_two_at_once(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """Misleading text is escaped in card and words; of two prompts only the newest is stopped."""
    async with chats(tmp_path, executor_path, folder, place) as chat:
        denied = await chat.give(f"hidden {folder}/work/x")
        await denied.press("Deny")
        await until(denied.ending)
        misleading = await chat.give("a\u202eb \u200bc")
        await until(misleading.ending)
        first = await chat.give("hang")
        await until(lambda: any("hanging" in text for text in first.thread()))
        second = await chat.give(f"write {folder}/work/never")
        await until(second.asked)
        await chat.write("agent stop")
        await until(second.ending)
        await until(lambda: not second.asked())
        assert not first.ending()
        await chat.write("agent stop")
        await until(first.ending)
        everything = "".join(denied.thread() + misleading.thread())

    assert "no-1" in denied.ending()
    assert "you said: a\\u{202E}b \\u{200B}c" in everything
    assert not {"\u202e", "\x1b", "\u200b"} & set(everything)
    assert "main: cancelled, stopped by " in second.ending()
    assert "main: cancelled, stopped by " in first.ending()


@pytest.mark.parametrize("place", ONE_PLACE)
async def test_nobody_answers_in_time(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """The agent receives the refusal, and continues; nothing was written."""
    file = folder / "work" / f"late-{place}"
    async with chats(tmp_path, executor_path, folder, place, within_s=1) as chat:
        late = await chat.give(f"write {file}")
        await until(late.ending)

    assert "no-1" in late.ending()
    assert not file.exists()


@pytest.mark.parametrize("place", ONE_PLACE)
async def test_a_platform_that_was_away_gets_the_ending_from_the_next_gateway(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """No edit gets through while the first gateway stops; the control checks that none does."""
    edits = {"slack": "chat.update", "discord": "editMessage", "telegram": "editMessageText"}
    async with AsyncExitStack() as servers:
        async with chats(tmp_path, executor_path, folder, place, servers) as chat:
            given = await chat.give("hang")
            await until(lambda: any("hanging" in text for text in given.thread()))
            faults = getattr(chat.at, place).faults
            faults.lasting = Fault(FaultKind.STATUS, edits[place], 503)
        assert not given.ending()
        faults.lasting = None
        async with gateway(load(tmp_path, environ={})) as running:
            await until(given.ending)
            assert await running.store.read(agent_threads.not_ended) == ()
        said = given.ending()

    assert "main: failed: Executor terminated unexpectedly (" in said
    assert "hanging" in said
    assert sum("hanging" in text for text in given.thread()) == 1


@pytest.mark.parametrize("place", ["slack", "discord"])
async def test_the_slash_command_opens_a_thread(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """Its message is no one's, so the thread has a title; the words are in it, and nowhere else."""
    async with chats(tmp_path, executor_path, folder, place) as chat:
        if place == "slack":
            line = "/agent main hello there"
            await chat.at.slack.people.slash(slack.CHANNEL, slack.ANA, line)
            await until(lambda: len(chat.at.slack.state.place(slack.CHANNEL).messages) > 1)
            messages = chat.at.slack.state.place(slack.CHANNEL).messages
            chat.written, title = next((ts, seen(one["blocks"])) for ts, one in messages.items())
        else:
            options = {"agent": "main", "text": "hello there"}
            await chat.at.discord.slash(CHANNEL, discord.ANA, "agent", **options)
            state = chat.at.discord.state
            await until(lambda: any(number not in _THREADS for number in state.threads))
            number = next(number for number in state.threads if number not in _THREADS)
            chat.written, title = str(number), state.names[number]
        await until(chat.ending)
        said = chat.ending()

    assert title == "main: hello there"
    assert "you said: hello there" in said


@pytest.mark.parametrize("place", ONE_PLACE)
async def test_who_is_no_sender_starts_nothing(
    tmp_path: Path, executor_path: str, folder: Path, place: str
) -> None:
    """Ana may answer here, but not prompt."""
    async with chats(tmp_path, executor_path, folder, place, senders=False) as chat:
        before = len(chat.at.running.gate.running)
        refused = await chat.give("hello there")
        await until(lambda: "is not in senders of" in chat.replies())
        assert await chat.at.running.store.read(agent_threads.not_ended) == ()
        assert len(chat.at.running.gate.running) == before
        assert not refused.ending()
