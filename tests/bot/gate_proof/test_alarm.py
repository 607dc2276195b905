"""Tell people of a lockdown even if prompts have no fixed place to go to."""

import asyncio
import os
from pathlib import Path

from bot.client import Client
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.slack_rules import seen
from tests.support.three_platforms import ThreePlatforms, three_platforms
from tests.support.waiting import until


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
