"""`/login` in a chat gives an approver a link that no one else reads, on all three platforms."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.model.identity import Actor
from core.store.people import pairing, people
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord_objects import BOT, CHANNEL
from tests.support.page_browser import GOES_TO
from tests.support.three_platforms import ThreePlatforms, three_platforms
from tests.support.waiting import until

_LINK = re.compile(r"http://127\.0\.0\.1:\d+/login/[A-Za-z0-9_-]{43}")
PLACES = ("slack", "discord", "telegram")
ACCOUNTS = {
    "slack": slack.ANA,
    "discord": str(discord.ANA),
    "telegram": str(telegram.ANA),
}
_HTTP = {"http": {"enabled": True, "listen": "127.0.0.1:0"}}


@asynccontextmanager
async def platforms(home: Path, *, paired: bool = True) -> AsyncIterator[ThreePlatforms]:
    """Run the platforms over a gateway with a page; Ana's accounts are linked if ``paired``."""
    async with three_platforms(home, _HTTP) as at:
        store = at.running.store
        await store.write(people.add, "ana")
        for channel, account in ACCOUNTS.items() if paired else ():
            code = await store.write(pairing.begin, "ana")
            assert code is not None
            await store.write(pairing.pair, code.code, Actor(channel, account, "Ana"))
        yield at


async def _privately(at: ThreePlatforms, place: str) -> None:
    """Ask for a link where only Ana reads: by a slash command, or in a direct message."""
    match place:
        case "slack":
            await at.slack.people.slash(slack.CHANNEL, slack.ANA, "/login")
        case "discord":
            await at.discord.slash(CHANNEL, discord.ANA, "login")
        case _:
            await at.telegram.say(telegram.CHAT, telegram.ANA, "/login")


async def _openly(at: ThreePlatforms, place: str) -> None:
    """Ask for a link in a group; Slack answers with whispers there, so it has no open reply."""
    if place == "discord":
        await at.discord.say(CHANNEL, discord.ANA, f"<@{BOT}> /login")
    else:
        await at.telegram.say(telegram.GROUP, telegram.ANA, "/login")


def _for_all(at: ThreePlatforms) -> str:
    """Return everything that others can read in any place."""
    return repr(
        [
            list(at.slack.state.place(slack.CHANNEL).messages.values()),
            at.discord.messages(CHANNEL),
            [one for one in _discord_notes(at) if not _is_ephemeral(one)],
            at.telegram.messages(telegram.GROUP),
        ]
    )


def _discord_notes(at: ThreePlatforms) -> list[Any]:
    return [note for one in at.discord.state.interactions.values() for note in one.replies]


def _is_ephemeral(message: Any) -> bool:
    return bool(int(message.get("flags", 0)) & 64)


def _for_ana(at: ThreePlatforms) -> str:
    """Return everything that only she can read."""
    return repr(
        [
            at.slack.state.whispers,
            [one for one in _discord_notes(at) if _is_ephemeral(one)],
            at.telegram.messages(telegram.CHAT),
        ]
    )


async def _link(at: ThreePlatforms, place: str) -> str:
    await _privately(at, place)
    await until(lambda: bool(_LINK.search(_for_ana(at))))
    found: set[str] = set(_LINK.findall(_for_ana(at)))
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize("place", PLACES)
async def test_a_link_signs_its_person_in(tmp_path: Path, place: str) -> None:
    """Only she reads it; it is used by the button, once, in the browser that opened it."""
    async with platforms(tmp_path) as at:
        link = await _link(at, place)
        assert not _LINK.search(_for_all(at))
        origin = {"Origin": link.partition("/login/")[0]}
        async with httpx.AsyncClient() as unfurler, httpx.AsyncClient() as ana:
            assert (await unfurler.get(link)).status_code == 200
            opened = await ana.get(link, headers=GOES_TO)
            assert "<bdi>ana</bdi>" in opened.text
            assert (await unfurler.post(link, headers=origin)).status_code == 403
            assert (await unfurler.get(link, headers=GOES_TO)).status_code == 403
            assert (await ana.post(link, headers=origin)).status_code == 303
            assert (await ana.post(link, headers=origin)).status_code == 403
            shown = await ana.get(origin["Origin"] + "/")
            assert "Waiting for an answer" in shown.text


@pytest.mark.parametrize("place", ["discord", "telegram"])
async def test_no_link_is_given_in_the_open(tmp_path: Path, place: str) -> None:
    """In a group she is told to write a direct message; there is no link in any place."""
    async with platforms(tmp_path) as at:
        await _openly(at, place)
        await until(lambda: "in a direct message to me" in _for_all(at))
        assert not _LINK.search(_for_all(at) + _for_ana(at))


async def test_slack_whispers_a_link_in_a_channel(tmp_path: Path) -> None:
    """A mention in a channel is answered to its member only."""
    async with platforms(tmp_path) as at:
        mention = f"@{at.slack.state.name} login"
        await at.slack.people.say(slack.CHANNEL, slack.ANA, mention)
        await until(lambda: bool(_LINK.search(repr(at.slack.state.whispers))))
        assert not _LINK.search(_for_all(at))
        assert {one["user"] for one in at.slack.state.whispers} == {slack.ANA}


Ask = Callable[[ThreePlatforms], Awaitable[object]]
_STRANGERS: dict[str, Ask] = {
    "slack": lambda at: at.slack.people.slash(slack.CHANNEL, slack.BOB, "/login"),
    "discord": lambda at: at.discord.slash(CHANNEL, discord.EVE, "login"),
    "telegram": lambda at: at.telegram.say(66, 66, "/login"),
}


@pytest.mark.parametrize("place", PLACES)
async def test_only_approvers_get_one(tmp_path: Path, place: str) -> None:
    """Another person reads that the account is on no list."""
    async with platforms(tmp_path) as at:
        await _STRANGERS[place](at)
        words = "You may not use /login"
        await until(lambda: words in _for_ana(at) + _for_all(at) + repr(at.telegram.messages(66)))
        everywhere = _for_ana(at) + _for_all(at) + repr(at.telegram.messages(66))
        assert not _LINK.search(everywhere)


async def test_an_account_without_a_person_gets_none(tmp_path: Path) -> None:
    """It is told how to be linked."""
    async with platforms(tmp_path, paired=False) as at:
        await _privately(at, "telegram")
        await until(lambda: "/pair CODE" in _for_ana(at))
        assert not _LINK.search(_for_ana(at))


async def test_a_new_link_ends_the_one_before(tmp_path: Path) -> None:
    """With the same account; the newest works."""
    async with platforms(tmp_path) as at:
        first = await _link(at, "telegram")
        await _privately(at, "telegram")
        await until(lambda: len(set(_LINK.findall(_for_ana(at)))) == 2)
        (second,) = set(_LINK.findall(_for_ana(at))) - {first}
        async with httpx.AsyncClient() as ana:
            assert (await ana.get(first, headers=GOES_TO)).status_code == 403
            assert (await ana.get(second, headers=GOES_TO)).status_code == 200
