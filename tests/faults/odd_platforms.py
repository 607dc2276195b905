"""Ask, press and reply on a platform whose answers are odd, next to one whose answers are not.

What is judged: each question on the odd platform is asked, or its channel says why not; the other
platform notices nothing; once the answers are correct again, questions are asked without a restart.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.app import Gateway
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.alterations import Field
from tests.emulators.discord import DiscordServer
from tests.emulators.discord_objects import BOT
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer
from tests.emulators.telegram import TelegramServer
from tests.faults.chat_platforms import (
    DiscordPlatform,
    Platform,
    SlackPlatform,
    TelegramPlatform,
    asking,
    configure,
    on_posts,
    serving,
)
from tests.faults.prompt_rounds import Round

BESIDE = {"slack": "telegram", "discord": "telegram", "telegram": "discord"}
_SHOW_S, _ANSWER_S, _RECOVER_S = 25.0, 10.0, 45.0
"""Discord's library retries a 500 for 20 s before the channel learns of it."""
Odd = Callable[[Platform], None]


@dataclass(slots=True)
class Story:
    """What happened on one odd platform; ``said`` is what its channel reported of it."""

    name: str
    asked: int = 0
    shown: int = 0
    answered: int = 0
    said: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    beside: bool = False
    recovered: bool = False
    fields: tuple[Field, ...] = ()
    calls: frozenset[str] = frozenset()

    def faults(self) -> list[str]:
        """Return the faults, in words."""
        silent = (self.shown < self.asked or self.answered < self.shown) and not self.said
        found = [f"a traceback: {one}" for one in self.tracebacks]
        found += ["silent: nothing said why"] if silent else []
        found += [] if self.beside else ["the other platform was held up"]
        found += [] if self.recovered else ["nothing is asked once the answers are right again"]
        return found


def drop(dropped: Field) -> Odd:
    """Leave a field out of every answer."""

    def arrange(side: Platform) -> None:
        assert isinstance(side, SlackPlatform | TelegramPlatform | DiscordPlatform)
        side.server.alterations.dropped = dropped

    return arrange


def page(fault: Fault) -> Odd:
    """Answer a call with a page for as long as it lasts."""

    def arrange(side: Platform) -> None:
        side.faults.lasting = fault

    return arrange


def nothing(side: Platform) -> None:
    """Leave the platform as it is."""


async def play(home: Path, name: str, odd: Odd, caplog: pytest.LogCaptureFixture) -> Story:
    """Run a gateway over an odd platform and a correct one; report what happened to them."""
    caplog.clear()
    caplog.set_level(logging.INFO)
    story = Story(name)
    async with serving(name, BESIDE[name]) as (side, other):
        configure(home, [side, other])
        odd(side)
        async with asking(home) as running:
            mine, beside = Round(side, home), Round(other, home)
            on_posts(side, Fault(FaultKind.LOSE))
            await _use(running, mine, story, caplog)
            story.beside = await _in_time(_whole(running, beside))
            _undo(side)
            story.recovered = await _in_time(_asked_again(running, mine))
        story.fields = tuple(_server_of(side).alterations.seen)
        story.calls = frozenset(call.method for call in _server_of(side).calls)
    story.tracebacks = [
        f"{one.name}: {one.getMessage()[:200]}"
        for one in caplog.records
        if (one.exc_info or one.exc_text) and not _hung_up_on_us(one)
    ]
    return story


def _hung_up_on_us(record: logging.LogRecord) -> bool:
    """Return whether the emulator reports that a client has ended while it read its request."""
    raised = record.exc_info[1] if record.exc_info else None
    return record.name == "aiohttp.server" and isinstance(raised, ConnectionResetError)


async def _use(
    running: Gateway, mine: Round, story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    """Ask in two places, press on one prompt and reply to the other."""
    await mine.ask(running, 1)
    await mine.ask(running, 2)
    await mine.recall(running)
    story.asked = len(mine.asked)
    until = time.monotonic() + _SHOW_S
    while not await _recorded(running, mine) and time.monotonic() < until:
        if _said(story.name, caplog):
            break
        await asyncio.sleep(0.02)
    story.shown = _shown(mine)
    seen = await _answer(mine)
    until = time.monotonic() + _ANSWER_S
    while (waiting := await mine.waiting(running)) and time.monotonic() < until:
        mine_waiting = {one.id for one in mine.asked} & waiting
        if not mine_waiting or _said(story.name, caplog):
            break
        await asyncio.sleep(0.05)
    open_ = {one.id for one in mine.asked} & await mine.waiting(running)
    story.answered = story.asked - len(open_)
    story.said = seen + _said(story.name, caplog)
    story.said += await _health(running, story)


async def _health(running: Gateway, story: Story) -> list[str]:
    """Return what the channel's health says; a socket that was late under load may recover."""
    until = time.monotonic() + (0 if story.said else _ANSWER_S)
    while not (health := await running.channels[story.name].check()).ok:
        if time.monotonic() > until:
            return [health.detail]
        await asyncio.sleep(0.05)
    return []


def _said(name: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the log says about a platform, from warnings up; not the lost first post."""
    told = (one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING)
    mine = [words for words in told if name in words.lower() or "a person did" in words]
    return [words for words in mine if not _is_of_first_post(words)]


def _is_of_first_post(words: str) -> bool:
    return any(said in words for said in ("disconnected", "did not confirm", "Disconnected"))


async def _recorded(running: Gateway, mine: Round) -> bool:
    return all([await mine.is_shown(running, one) for one in mine.asked])


def _shown(mine: Round) -> int:
    return sum(any(copy.offers(one.id) for copy in mine.copies()) for one in mine.asked)


async def _answer(mine: Round) -> list[str]:
    """Press on the first prompt and reply to the others; return what the platform showed Ana."""
    seen = []
    for number, one in enumerate(mine.asked):
        found = next((copy for copy in mine.copies() if copy.offers(one.id)), None)
        if found is None:
            continue
        if number == 0:
            press = next(name for name in found.buttons if name.endswith(f"d:{one.id}"))
            if not await mine.side.press(found, press):
                seen.append("Ana saw that her press failed")
        else:
            await _reply(mine.side, found.place, found.id)
    return seen


async def _reply(side: Platform, place: str, message: str) -> None:
    """Type "no" as the reply to a prompt."""
    match side:
        case SlackPlatform():
            await side.server.people.say(place, slack.ANA, "no", message)
        case DiscordPlatform():
            words, to = f"<@{BOT}> no", int(message)
            await side.server.say(int(place), discord.ANA, words, reply_to=to)
        case TelegramPlatform():
            await side.server.say(int(place), telegram.ANA, "no", reply_to=int(message))
        case _:
            raise TypeError(side)


async def _whole(running: Gateway, beside: Round) -> None:
    """Ask, answer and edit on the platform whose answers are correct."""
    await beside.ask(running, 1)
    await beside.recall(running)
    async with asyncio.timeout(10):
        while _shown(beside) < len(beside.asked):
            await asyncio.sleep(0.02)
    await _answer(beside)
    async with asyncio.timeout(10):
        while {one.id for one in beside.asked} & await beside.waiting(running):
            await asyncio.sleep(0.02)
        while any(copy.open for copy in beside.copies()):
            await asyncio.sleep(0.02)


async def _asked_again(running: Gateway, mine: Round) -> None:
    """Ask in a third place, and again in the first one."""
    before = {one.id for one in mine.asked}
    await mine.ask(running, 1)
    await mine.ask(running, 3)
    await mine.recall(running)
    new = [one for one in mine.asked if one.id not in before]
    async with asyncio.timeout(_RECOVER_S):
        while not all(any(copy.offers(one.id) for copy in mine.copies()) for one in new):
            await asyncio.sleep(0.05)


async def _in_time(work: Awaitable[None]) -> bool:
    try:
        await work
    except TimeoutError:
        return False
    return True


def _undo(side: Platform) -> None:
    side.faults.lasting = None
    side.faults.waiting.clear()
    _server_of(side).alterations.dropped = None


def _server_of(side: Platform) -> SlackServer | DiscordServer | TelegramServer:
    assert isinstance(side, SlackPlatform | TelegramPlatform | DiscordPlatform)
    return side.server
