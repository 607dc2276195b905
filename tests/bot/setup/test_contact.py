"""Find the sender of a code, and say what the platform says about the bot."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from bot.setup.choices import Contact
from bot.setup.contact import MOST_TRIES, CodeInbox, Search
from channels.base import Channel, Inbound, Tone
from channels.commands import LogIn, Pair
from channels.memory import MemoryChannel
from core.errors import ChannelError
from core.model.identity import Actor, Target
from tests.channels.telegram.bot_and_user import ANA, CHAT, TelegramUsers, channel_for
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram import TelegramServer
from tests.support import gate


@pytest.fixture
async def ana() -> AsyncIterator[TelegramUsers]:
    """Yield Ana and a bot at a local Bot API server."""
    async with TelegramServer() as server:
        yield TelegramUsers(server, channel_for(server))


def sent(code: str | None) -> Inbound:
    """Return a message with a code, or another one."""
    actor = Actor("telegram", "1", "Ana")
    return Inbound(actor, Target("telegram", "7"), Pair(code) if code else LogIn(), "k")


@dataclass
class Screen:
    """What was shown; ``answer`` is what somebody does who reads the code."""

    answer: Callable[[str], Awaitable[object]]
    shown: list[tuple[str, str]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    _tasks: list[asyncio.Future[object]] = field(default_factory=list)

    def code(self, code: str, bot: str, link: str) -> None:
        """Note it, without the code itself."""
        self.shown.append((bot, link.replace(code, "CODE")))
        self._tasks.append(asyncio.ensure_future(self.answer(code)))

    def trouble(self, detail: str) -> None:
        """Note it."""
        self.troubles.append(detail)


async def found(channel: Channel, screen: Screen, seconds: float = 30) -> Contact:
    """Search on a channel."""
    return await Search(channel, seconds, screen).find()


async def test_what_is_shown_with_the_code(ana: TelegramUsers) -> None:
    """The first proof tells which bot it is, and a link sends the code."""
    screen = Screen(lambda code: ana.type(f"/start {code.lower()}"))
    contact = await found(ana.channel, screen)
    health = await ana.channel.check()

    assert (contact.account, contact.to) == (str(ANA), str(CHAT))
    assert screen.shown == [("is @sayso_test_bot's", "https://t.me/sayso_test_bot?start=CODE")]
    assert screen.troubles == []
    assert not health.ok  # it was stopped


async def test_a_platform_may_have_neither_proofs_nor_links() -> None:
    """The code alone is shown then."""
    channel = MemoryChannel()
    screen = Screen(lambda code: channel.say(gate.PLACE, f"/pair {code}", gate.ANA))

    assert await found(channel, screen) == Contact("ana", "room", "Ana")
    assert screen.shown == [("", "")]
    assert not (await channel.check()).ok


async def test_a_token_that_does_not_work_shows_no_code(ana: TelegramUsers) -> None:
    """The platform's own words are passed on, with one full stop."""
    ana.server.state.token = "1:another"
    screen = Screen(ana.type)

    with pytest.raises(ChannelError, match=r"^telegram token: .*[^.]\. Nothing was written"):
        await found(ana.channel, screen)
    assert screen.shown == []


async def test_no_obstacle_is_told_where_there_is_none() -> None:
    """Nobody has sent the code, and that is all."""
    screen = Screen(lambda _code: asyncio.sleep(0))

    with pytest.raises(ChannelError, match=r"so nothing was written\. Run `sayso init` again\."):
        await found(MemoryChannel(), screen, 0.02)
    assert screen.troubles == []


async def test_an_obstacle_is_told_once_and_again_at_the_end(ana: TelegramUsers) -> None:
    """Somebody who waits in vain reads why."""

    async def lost(_code: str) -> None:
        ana.server.faults.lasting = Fault(FaultKind.STATUS, status=502)

    screen = Screen(lost)
    with pytest.raises(ChannelError) as caught:
        await found(ana.channel, screen, 1.2)  # the second look is after a second
    (trouble,) = screen.troubles
    assert f"so nothing was written. {trouble} Run `sayso init` again." in str(caught.value)
    assert trouble.startswith("telegram: ")
    assert not trouble.endswith("..")


async def test_the_code_is_taken_once_and_not_guessed() -> None:
    """Other messages are no tries; the last wrong code ends the search."""
    inbox = CodeInbox("AB12")
    assert (await inbox.receive(sent(None))).tone is Tone.INFO
    for tries in range(1, MOST_TRIES):
        assert (await inbox.receive(sent("no"))).tone is Tone.REFUSED
        assert (inbox.tries, inbox.found.done()) == (tries, False)
    await inbox.receive(sent("no"))
    with pytest.raises(ChannelError, match="too many wrong codes"):
        inbox.found.result()

    inbox = CodeInbox("AB12")
    assert (await inbox.receive(sent("ab12"))).tone is Tone.OK
    assert (await inbox.receive(sent("ab12"))).tone is Tone.REFUSED
