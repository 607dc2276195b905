"""Ask one realistic command on three platforms and show the three prompts in a real browser."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.model.identity import SessionKey
from core.model.result import Pending
from tests.browser.chromium import chromium
from tests.browser.devtools import Tab
from tests.emulators.page.server import PromptPage
from tests.support.three_platforms import ThreePlatforms, three_platforms, wish
from tests.support.waiting import until

COMMAND = "git push --force-with-lease origin main"
FOLDER = Path("/srv")
"""The one folder below ``/`` that belongs to no one and is on every Linux (FHS 3.0 §3.17)."""

WIDTH = 1180
"""Pixels of a window in which all three stand side by side."""

_SCALE = 2
_GEOMETRY = Path(__file__).with_name("geometry.js")
_CHANGING = (
    (re.compile(r"\b[0-9a-z]{26}\b"), "<id>"),
    (re.compile(r"\b[bdfghjklmnprstvzaiou]{5}(?:-[bdfghjklmnprstvzaiou]{5}){3}\b"), "<check>"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "<time>"),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """Three prompts on the page, for one request."""

    three_platforms: ThreePlatforms
    page: PromptPage
    tab: Tab
    asked: Pending

    async def show(self, width: int = WIDTH) -> None:
        """Open the page, as the messages are now; narrow windows show one card below the other."""
        await self.tab.show(self.page.url, width, _SCALE)

    async def looked_at(self) -> dict[str, Any]:
        """Return the ``faults`` that a person would see, and the ``cards`` by platform."""
        seen: dict[str, Any] = await self.tab.evaluate(_GEOMETRY.read_text(encoding="utf-8"))
        return seen

    async def words(self) -> str:
        """Return all words of the page, with names for what differs from request to request."""
        cards = (await self.looked_at())["cards"]
        text = "\n\n".join(f"== {name}\n{card['words']}" for name, card in cards.items())
        for shape, name in _CHANGING:
            text = shape.sub(name, text)
        return text.replace(self.asked.code, "<code>")


@asynccontextmanager
async def prompts(home: Path) -> AsyncIterator[tuple[ThreePlatforms, Pending]]:
    """Run a gateway and the platforms until each has the prompt of one request."""
    async with three_platforms(home) as at:
        request = replace(wish(FOLDER), line=COMMAND, session=SessionKey("release"))
        asked = await at.running.gate.submit(request)
        assert isinstance(asked, Pending), asked
        await until(lambda: len(at.open()) == 3)
        yield at, asked


@asynccontextmanager
async def scene(home: Path) -> AsyncIterator[Scene]:
    """Show the prompts of one request in a real browser."""
    async with prompts(home) as (at, asked), PromptPage(at.shown) as page, chromium() as tab:
        shown = Scene(at, page, tab, asked)
        await shown.show()
        yield shown
