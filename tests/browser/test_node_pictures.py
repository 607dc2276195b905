"""Show nodes and the companion legibly, and as they are drawn now."""

from pathlib import Path

from core.text.render import LINE_MARK
from tests.browser.node_pictures import ADDRESS, COMPANION, NAME, PAIRING, companion_screen, pairing


async def test_a_node_that_asks_is_readable_in_each_chat(tmp_path: Path) -> None:
    """Name, address, words, code and both buttons; our own line breaks carry no mark."""
    async with pairing(tmp_path) as (_, seen):
        cards = seen["cards"]

    assert seen["faults"] == []
    assert cards.keys() == {"telegram", "slack", "discord"}
    for card in cards.values():
        assert card["buttons"] == ["Allow", "Deny"]
        for word in (NAME, ADDRESS, "gurun hifag nivov fuvin", "/node approve"):
            assert word in card["words"]
        assert LINE_MARK not in card["words"]
    assert PAIRING.stat().st_size < 300_000


async def test_the_companions_picture_shows_its_screen() -> None:
    """It says what the screen says now, and loads nothing from anywhere."""
    drawn, kept = await companion_screen(), COMPANION.read_text(encoding="utf-8")
    for words in ("git&#160;push", "Allow&#160;once", "Allow&#160;always", "Deny", "Folder"):
        assert words in drawn
        assert words in kept
    assert "url(http" not in kept
