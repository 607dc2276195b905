"""Press a button after being taken off a list, out of a group or a role: it answers nothing."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.model.result import Finished, Pending
from tests.channels.discord import guild as discord
from tests.channels.slack import workspace as slack
from tests.channels.telegram import bot_and_user as telegram
from tests.emulators.discord_objects import GUILD
from tests.support.three_platforms import ThreePlatforms, settled, three_platforms, wish
from tests.support.waiting import until

GROUP, ROLE = "S0LEADS01", 77
SOMEBODY = {"slack": "U0SOMEONE1", "discord": "4242", "telegram": "4242"}
ANA = {"slack": slack.ANA, "discord": str(discord.ANA), "telegram": telegram.ANA}
IN_A_GROUP = {
    "slack": {"approvers": [f"group:{GROUP}"]},
    "discord": {"approvers": [f"role:{ROLE}"], "guilds": [str(GUILD)]},
}


def _list(home: Path, **approvers: str) -> None:
    """Write who may answer in these channels."""
    path = home / "config.json5"
    config = json.loads(path.read_text())
    for channel, entry in approvers.items():
        config["channels"][channel]["approvers"] = [entry]
    path.write_text(json.dumps(config))


async def _refused_then_taken(
    at: ThreePlatforms, home: Path, place: str, back: Callable[[], object]
) -> None:
    """Press in vain, let the person back in, and press again: the control."""
    asked = await at.running.gate.submit(wish(home))
    assert isinstance(asked, Pending)
    await until(lambda: len(at.open()) == 3)
    for _ in range(3):
        await at.press(place, "Allow once")
    await asyncio.sleep(0.5)
    assert len(at.open()) == 3
    assert isinstance(await at.running.gate.status(asked.run_id), Pending)
    assert not (home / "ledger").exists()
    back()
    await at.running.reloading.reload()
    await at.press(place, "Allow once")
    assert isinstance(await at.running.gate.wait(asked.run_id, 20_000), Finished)
    await until(lambda: not at.open())
    await settled(at)
    assert all("Allowed once" in text for text in at.texts())


@pytest.mark.parametrize("place", ANA)
async def test_a_press_of_who_was_taken_off_the_list_answers_nothing(
    tmp_path: Path, place: str
) -> None:
    """On each platform; its buttons are still there, as others may press them."""
    async with three_platforms(tmp_path) as at:
        _list(tmp_path, **{place: SOMEBODY[place]})
        assert await at.running.reloading.reload()
        back = partial(_list, tmp_path, **{place: str(ANA[place])})
        await _refused_then_taken(at, tmp_path, place, back)


@pytest.mark.parametrize("place", IN_A_GROUP)
async def test_a_press_of_who_left_the_group_answers_nothing(tmp_path: Path, place: str) -> None:
    """The platform is asked, or says, at each press: no reload is needed."""
    async with three_platforms(tmp_path, channels=IN_A_GROUP) as at:
        leads = at.slack.state.user_groups.setdefault(GROUP, set())
        held = at.discord.state.roles.setdefault(discord.ANA, set())
        leads.discard(slack.ANA)
        held.discard(ROLE)

        def back() -> None:
            leads.add(slack.ANA)
            held.add(ROLE)

        await _refused_then_taken(at, tmp_path, place, back)


@pytest.mark.parametrize("removed", [False, True])
async def test_a_vote_of_who_was_taken_off_the_list_does_not_count(
    tmp_path: Path, *, removed: bool
) -> None:
    """Two must allow: one pressed on Slack, and was taken off before the other did on Discord."""
    async with three_platforms(tmp_path, quorum=2) as at:
        asked = await at.running.gate.submit(wish(tmp_path))
        assert isinstance(asked, Pending)
        await until(lambda: len(at.open()) == 3)
        await at.press("slack", "Allow once")
        if removed:
            _list(tmp_path, slack=SOMEBODY["slack"])
            assert await at.running.reloading.reload()
        await at.press("discord", "Allow once")
        if removed:
            await asyncio.sleep(0.5)
            assert isinstance(await at.running.gate.status(asked.run_id), Pending)
            await at.press("slack", "Allow once")
            await asyncio.sleep(0.3)
            assert isinstance(await at.running.gate.status(asked.run_id), Pending)
            await at.press("telegram", "Allow once")
        assert isinstance(await at.running.gate.wait(asked.run_id), Finished)
        await until(lambda: not at.open())
        await settled(at)
        texts = at.texts()
    assert all("Allowed once" in text for text in texts), texts
