"""Ask on three platforms at once: one decision, and every copy tells it."""

import asyncio
from pathlib import Path

import pytest

from core.model.result import Denied, Finished, Pending
from tests.support.three_platforms import settled, three_platforms, wish
from tests.support.waiting import until


@pytest.mark.parametrize("place", ["slack", "discord", "telegram"])
async def test_one_press_ends_every_copy(tmp_path: Path, place: str) -> None:
    """A decision in one place runs the command once and is told in all three."""
    async with three_platforms(tmp_path) as at:
        asked = await at.running.gate.submit(wish(tmp_path))
        await until(lambda: len(at.open()) == 3)
        await at.press(place, "Allow once")
        result = await at.running.gate.wait(asked.run_id)
        await until(lambda: not at.open())
        await settled(at)
        texts = at.texts()

    assert isinstance(asked, Pending)
    assert isinstance(result, Finished)
    assert "ran\n" == (tmp_path / "ledger").read_text()
    assert all("Allowed once" in text for text in texts), texts


async def test_presses_of_one_moment_have_one_winner(tmp_path: Path) -> None:
    """Two people answer differently at once: one counts, and every copy says which."""
    async with three_platforms(tmp_path) as at:
        asked = await at.running.gate.submit(wish(tmp_path))
        await until(lambda: len(at.open()) == 3)
        await asyncio.gather(at.press("discord", "Deny"), at.press("telegram", "Allow once"))
        result = await at.running.gate.wait(asked.run_id)
        await until(lambda: not at.open())
        texts = at.texts()

    assert isinstance(result, Finished | Denied)
    ran = (tmp_path / "ledger").exists()
    assert ran is isinstance(result, Finished)
    words = "Allowed once" if ran else "Denied"
    assert all(words in text for text in texts), texts
