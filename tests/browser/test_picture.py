"""View the three prompts as people see them: a real browser shows what was really sent."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from channels.cards.build import build_prompt
from channels.cards.lines import front
from core.store import approvals
from tests.browser.picture import PICTURE, WORDS, record
from tests.browser.scene import COMMAND, Scene, prompts, scene
from tests.emulators.page.markup import Json
from tests.emulators.page.sheet import sheet

BUTTONS = ["Allow once", "Always allow…", "Deny"]
PHONE = (390, 700)
"""Pixels of a phone's first screen below its bars."""

LARGEST = 300_000
PLATFORMS = {"telegram", "slack", "discord"}
_DEADLINE = re.compile(r"\b(\d\d):(\d\d):(\d\d) UTC")
_DAY_S = 24 * 60 * 60
_SLOWEST_DELIVERY_S = 60


async def expected(shown: Scene) -> list[str]:
    """Return the texts that every platform has to show."""
    found = await shown.three_platforms.running.store.read(approvals.get, shown.asked.run_id)
    assert found is not None
    card = build_prompt(found)
    pairs = [(fact.label, fact.value.text) for fact in front(card) if fact.label != "Answer by"]
    return [COMMAND, shown.asked.code, *(text for pair in pairs for text in pair)]


def deadline_s(text: str) -> int:
    """Return the deadline that a text shows, in seconds of the day."""
    found = _DEADLINE.search(text)
    assert found is not None, text
    hours, minutes, seconds = map(int, found.groups())
    return (hours * 60 + minutes) * 60 + seconds


async def test_each_prompt_is_wholly_readable(tmp_path: Path) -> None:
    """Command, code, what decides and buttons are in all three, unclipped and uncovered."""
    async with scene(tmp_path) as shown:
        seen = await shown.looked_at()
        texts = await expected(shown)

    assert seen["faults"] == []
    assert PLATFORMS == seen["cards"].keys()
    for name, card in seen["cards"].items():
        assert [text for text in texts if text not in card["words"]] == []
        assert "Answer by" in card["words"]
        # Telegram folds the details into the message.
        assert [*BUTTONS, *([] if name == "telegram" else ["Details"])] == card["buttons"]


async def test_the_deadline_that_is_drawn_is_the_stores(tmp_path: Path) -> None:
    """The time to answer begins when the first prompt is confirmed, after each was drawn."""
    async with scene(tmp_path) as shown:
        seen = await shown.looked_at()
        found = await shown.three_platforms.running.store.read(approvals.get, shown.asked.run_id)

    assert found is not None
    (true,) = (fact.value.text for fact in front(build_prompt(found)) if fact.label == "Answer by")
    for name in PLATFORMS - {"discord"}:
        more_s = deadline_s(true) - deadline_s(seen["cards"][name]["words"])
        assert 0 <= more_s % _DAY_S <= _SLOWEST_DELIVERY_S


async def test_each_prompt_fits_the_first_screen_of_a_phone(tmp_path: Path) -> None:
    """A person with a phone decides without scrolling."""
    width, height = PHONE
    async with scene(tmp_path) as shown:
        await shown.show(width)
        seen = await shown.looked_at()

    assert seen["faults"] == []
    for name, card in seen["cards"].items():
        assert (name, card["width"] <= width, card["height"] <= height) == (name, True, True), card


async def test_the_page_is_quiet_and_stays_on_loopback(tmp_path: Path) -> None:
    """Nothing on the console, and no request that leaves the page's own server."""
    async with scene(tmp_path) as shown:
        home = urlsplit(shown.page.url)
        asked = [urlsplit(url) for url in shown.tab.requests]
        complaints = shown.tab.complaints

    assert complaints == []
    served = [url.path for url in asked if url.netloc == home.netloc]
    assert ["/", "/page.css"] == served
    assert {"data"} >= {url.scheme for url in asked if url.netloc != home.netloc}


async def test_the_picture_shows_what_is_sent_today(tmp_path: Path) -> None:
    """Changing a prompt requires a new picture: ``python -m tests.browser.picture``."""
    async with scene(tmp_path) as shown:
        words = await shown.words()
    picture = PICTURE.read_bytes()

    assert record(picture, words) == WORDS.read_text(encoding="utf-8")
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < LARGEST


STRANGE: dict[str, Callable[[dict[str, Json]], object]] = {
    "block video": lambda posted: posted["slack"]["blocks"].append({"type": "video"}),
    "section.accessory": lambda posted: posted["slack"]["blocks"][2].update(accessory={"a": 1}),
    "text object mrkdwn": lambda posted: posted["slack"]["blocks"][0]["text"].update(type="mrkdwn"),
    "entity": lambda posted: posted["telegram"]["entities"][0].update(type="spoiler"),
    "mention @everyone": lambda posted: posted["telegram"].update(text="@everyone", entities=[]),
    "message.document": lambda posted: posted["telegram"].update(document={"file_id": "x"}),
    "message.embeds": lambda posted: posted["discord"].update(embeds=[{"description": "x"}]),
    "spoiler ||x||": lambda posted: posted["discord"].update(content="||x||"),
    "component 17": lambda posted: posted["discord"].update(components=[{"type": 17}]),
}
"""What the page does not know, by the words of its mark."""

SPOILT = {
    "clipped": "width: 40px; overflow: hidden; display: block",
    "not visible": "opacity: 0",
    "outside its card": "position: relative; left: 900px",
    "covered": "position: relative; z-index: -1",
}
"""What makes a button unreadable, by the words of the fault."""


async def test_what_the_page_does_not_know_is_marked(tmp_path: Path) -> None:
    """Something that a platform would show and the page cannot gets a mark, which is a fault."""
    async with prompts(tmp_path) as (world, _):
        good = world.shown()

    assert 'class="unknown"' not in sheet(good, "sayso")
    for words, change in STRANGE.items():
        posted = copy.deepcopy(good)
        change(posted)
        assert f'class="unknown">This page cannot show: {words}' in sheet(posted, "sayso")


async def test_what_cannot_be_read_is_found(tmp_path: Path) -> None:
    """The check of the page finds buttons that are clipped, hidden, astray or covered."""
    async with scene(tmp_path) as shown:
        found = {}
        for words, style in SPOILT.items():
            await shown.tab.evaluate(
                f"document.querySelector('.slack button').style.cssText = {style!r}"
            )
            found[words] = (await shown.looked_at())["faults"]

    assert [words for words, faults in found.items() if words not in " ".join(faults)] == []


async def test_an_unknown_block_is_a_fault_in_the_browser(tmp_path: Path) -> None:
    """A block type that Slack adds, and this page does not know, fails the check of the page."""
    async with scene(tmp_path) as shown:
        shown.three_platforms.shown()["slack"]["blocks"].append({"type": "video"})
        await shown.show()
        faults = (await shown.looked_at())["faults"]

    assert ["This page cannot show: block video"] == faults
