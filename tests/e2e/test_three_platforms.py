"""Ask on three platforms at once: one decision, and every copy shows it."""

import asyncio
import json
from pathlib import Path

import pytest

from core.model.result import Denied, Finished, Pending
from tests.support.three_platforms import settled, three_platforms, wish
from tests.support.waiting import until


@pytest.mark.parametrize("place", ["slack", "discord", "telegram"])
async def test_one_press_ends_every_copy(tmp_path: Path, place: str) -> None:
    """A decision in one place runs the command once and appears in all three."""
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


async def test_a_step_up_is_one_button_away(tmp_path: Path) -> None:
    """In each place it opens the question's page instead of allowing; denying takes one press."""
    rule = {
        "match": {"effect": "writes"},
        "decide": "ask",
        "tier": "critical",
        "reason": "it writes",
    }
    sections = {
        "http": {"enabled": True, "listen": "127.0.0.1:0", "url": "https://sayso.example"},
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "rules": [rule]}},
    }
    async with three_platforms(tmp_path, sections, tiers={"critical": {"stepUp": True}}) as at:
        asked = await at.running.gate.submit(wish(tmp_path))
        await until(lambda: len(at.open()) == 3)
        for shown in at.shown().values():
            text = json.dumps(shown, ensure_ascii=False)
            assert f"https://sayso.example/approve/{asked.run_id}" in text
            assert "Allow on the page…" in text
            assert "Allow once" not in text
        await at.press("telegram", "Deny")
        await until(lambda: not at.open())
        assert isinstance(await at.running.gate.wait(asked.run_id), Denied)


async def test_presses_of_one_moment_have_one_winner(tmp_path: Path) -> None:
    """Two people answer differently at once: one answer counts, and every copy says which."""
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
