"""Look at the three prompts as people see them: a real browser shows what was really sent."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from channels.cards import build_prompt, facts
from core.store import approvals
from tests.browser.chromium import chromium
from tests.browser.picture import PICTURE, WORDS, record
from tests.browser.scene import COMMAND, Scene, scene
from tests.emulators.page.markup import Json
from tests.emulators.page.sheet import sheet

BUTTONS = ["Allow once", "Always allow…", "Deny"]
LARGEST = 300_000
PLATFORMS = {"telegram", "slack", "discord"}


async def expected(shown: Scene) -> list[str]:
    """Return the texts that every platform has to show."""
    found = await shown.world.running.store.read(approvals.get, shown.asked.run_id)
    assert found is not None
    card = build_prompt(found)
    pairs = [(fact.label, fact.value.text) for fact in facts(card)]
    return [COMMAND, shown.asked.code, *(text for pair in pairs for text in pair)]


async def test_each_prompt_is_wholly_readable(tmp_path: Path) -> None:
    """Command, code, facts and buttons stand in all three cards, unclipped and uncovered."""
    async with scene(tmp_path) as shown:
        seen = await shown.looked_at()
        texts = await expected(shown)

    assert seen["faults"] == []
    assert PLATFORMS == seen["cards"].keys()
    for card in seen["cards"].values():
        assert [text for text in texts if text not in card["words"]] == []
        assert BUTTONS == card["buttons"]


async def test_the_page_is_quiet_and_stays_on_loopback(tmp_path: Path) -> None:
    """Nothing on the console, and no request that leaves the page's own server."""
    async with scene(tmp_path) as shown:
        home = urlsplit(shown.page.url)
        asked = [urlsplit(url) for url in shown.tab.requests]
        complaints = shown.tab.complaints

    assert complaints == []
    served = [url.path for url in asked if url.netloc == home.netloc]
    assert ["/", "/page.css"] == served
    assert {"http", "data"} == {url.scheme for url in asked} | {"data"}
    assert {home.netloc, ""} >= {url.netloc for url in asked}


async def test_the_picture_shows_what_is_sent_today(tmp_path: Path) -> None:
    """Whoever changes a prompt makes the picture anew: ``python -m tests.browser.picture``."""
    async with scene(tmp_path) as shown:
        words = await shown.words()
    picture = PICTURE.read_bytes()

    assert record(picture, words) == WORDS.read_text(encoding="utf-8")
    assert picture.startswith(b"\x89PNG") and len(picture) < LARGEST
