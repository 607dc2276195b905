"""Tell people of a lockdown even if prompts have no fixed place to go to."""

import asyncio
import os
from pathlib import Path

import pytest

from bot.client import Client
from bot.gate_proof.alarm import Audience, audience_of
from core.approvals.routing.forwarding import Forwarding
from core.model.identity import PersonId, Target
from core.settings.approvals import ForwardMode
from core.store.people.people import Account, Person
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.slack_rules import seen
from tests.support.three_platforms import ThreePlatforms, three_platforms
from tests.support.waiting import until

RUNNING = frozenset({"slack", "discord", "telegram"})
ANA = Person(
    PersonId("ana"),
    revoked=False,
    accounts=(
        Account("slack", "U0ANA0001", "Ana", revoked=False),
        Account("telegram", "42", "Ana", revoked=False),
        Account("discord", "77", "Ana", revoked=True),
    ),
)


def told(at: ThreePlatforms) -> list[str]:
    """Return the channels in which only Ana was told of a lockdown."""
    slacks = [seen(one["blocks"]) for one in at.slack.state.dm(slack.ANA).messages.values()]
    direct = at.discord.state.direct.get(discord.ANA, 0)
    discords = [one["content"] for one in at.discord.messages(direct)]
    telegrams = [one["text"] for one in at.telegram.messages(telegram.ANA)]
    texts = {"slack": slacks, "discord": discords, "telegram": telegrams}
    return [name for name, said in texts.items() if any("locked" in one.lower() for one in said)]


async def lock(home: Path) -> None:
    """Lock everything down, as ``sayso lockdown on`` does."""

    def call() -> None:
        with Client(str(home / "gateway.sock")) as client:
            client.call("lockdown.engage", {"why": "the build agent runs wild"})

    await asyncio.to_thread(call)


async def test_approvers_of_every_running_channel_are_told(tmp_path: Path) -> None:
    """With mode session and no targets each approver reads it in direct messages, once."""
    async with three_platforms(tmp_path, mode="session", targets=[]) as at:
        await lock(tmp_path)
        await until(lambda: len(told(at)) == 3, 15)
        await lock(tmp_path)
        await asyncio.sleep(0.5)

        (notice,) = at.slack.state.dm(slack.ANA).messages.values()
        assert f"It was locked by uid:{os.getuid()}." in seen(notice["blocks"])


async def test_where_prompts_have_a_place_it_is_told_there(tmp_path: Path) -> None:
    """Negative control: with targets no one is told by direct message."""
    async with three_platforms(tmp_path) as at:
        await lock(tmp_path)
        await until(lambda: len(at.shown()) == 3, 15)

        assert [] == told(at)


@pytest.mark.parametrize(
    ("approvers", "places"),
    [
        ({"slack:U0ANA0001"}, [("slack", "U0ANA0001")]),
        ({"discord:77"}, [("discord", "user:77")]),
        ({"person:ana"}, [("slack", "U0ANA0001"), ("telegram", "42")]),
        ({"slack:person:ana"}, [("slack", "U0ANA0001")]),
        ({"person:ana", "slack:U0ANA0001"}, [("slack", "U0ANA0001"), ("telegram", "42")]),
        ({"slack:group:S0LEADS01", "discord:role:5", "person:bob", "terminal:root"}, []),
        ({"matrix:@ana"}, []),
    ],
)
def test_who_is_written_to(approvers: set[str], places: list[tuple[str, str]]) -> None:
    """Accounts in running channels, each once; groups, roles and strangers have no such place."""
    nowhere = Forwarding(enabled=True, mode=ForwardMode.SESSION, targets=())
    audience = audience_of(nowhere, frozenset(approvers), RUNNING)

    assert places == [(place.channel, place.to) for place in audience.direct((ANA,))]


def test_the_terminal_hears_of_it_too() -> None:
    """If the gateway has one."""
    audience = Audience(channels=frozenset({"terminal"}))

    assert (Target("terminal", "here"),) == audience.direct(())
